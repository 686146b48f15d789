#include "index/write/live_index.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/floating_point_scope.h"
#include "base/lock_isolated.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "index/write/normalize.h"
#include "index/write/reload.h"

namespace culmen {
namespace {

// From so many rows on a batch is not logged: writing a whole snapshot costs less than writing it twice.
constexpr std::size_t kUnloggedRows = 1'000'000;
constexpr std::size_t kMaxGroup = 256;         // batches of one sync
constexpr std::size_t kFoldedSteps = 1 << 20;  // rows of the log that the tree takes at once
constexpr std::uint64_t kPendingBytes = 1 << 20;
constexpr std::uint64_t kMinCheckpoint = std::uint64_t{64} << 20, kMaxCheckpoint = std::uint64_t{1} << 30;

// How large the log may grow before a snapshot is written.
std::uint64_t checkpoint_bytes(std::uint64_t snapshot_bytes) {
  return std::clamp(snapshot_bytes / 4, kMinCheckpoint, kMaxCheckpoint);
}

}  // namespace

// A batch in the queue, on the stack of the thread that waits for it.
struct LiveIndex::Request {
  const WriteBatch& batch;
  const WriteOptions& options;
  WriteResult result;
  std::exception_ptr error;
  bool is_done = false;
};

struct LiveIndex::Applied {
  Request* request;
  Change change;
  std::uint64_t version;
};

LiveIndex::LiveIndex(std::shared_ptr<const Snapshot> first)
    : published_(std::make_shared<Published>(first)), newest_(std::move(first)) {}

LiveIndex::LiveIndex(storage::FileSystem& file_system, const std::string& directory,
                     const OpenOptions& options)
    : file_system_(&file_system), directory_(directory), options_(options) {
  load();
  published_ = std::make_shared<Published>(newest_);
}

LiveIndex::~LiveIndex() {
  try {
    close();
  } catch (...) {
    // What was acknowledged is in the log. To know of the rest, call close().
  }
}

// ---- From the directory

// The newest snapshot and the log behind it.
void LiveIndex::load() {
  const FloatingPointScope floating_point;
  storage::RecoveryInfo info;
  do {
    tree_.reset();
    logged_.reset();
    store_ = storage::Store::open(*file_system_, directory_, options_.writable);
    newest_ = store_->take_snapshot();
    info = store_->replay(replayer());
  } while (info.superseded);
  recovery_ = {info.num_batches, info.dropped_bytes, info.dropped_from};
  apply_logged();
  if (tree_ != nullptr) newest_ = tree_->finish_version(newest_->version + info.num_batches);
  next_checkpoint_bytes_ = checkpoint_bytes(store_->snapshot_bytes());
}

// Takes the log's batches, and hands them to the tree in large ones.
storage::Store::UseBatch LiveIndex::replayer() {
  return [this](std::uint64_t version, std::span<const std::byte> body) {
    try {
      const LeafShape shape = tree().current().leaf_shape();
      if (!logged_)
        logged_.emplace(shape, tree_->current().next_id,
                        [this](std::int64_t id) { return tree_->contains(id); });
      logged_->add(decode(body, shape));
    } catch (const FormatError& error) {
      throw FormatError(directory_ + ": version " + std::to_string(version) + " in the log: " + error.what());
    }
    if (logged_->num_steps() >= kFoldedSteps) apply_logged();
  };
}

void LiveIndex::apply_logged() {
  if (!logged_) return;
  tree().apply(logged_->fold());
  logged_.reset();
}

TreeWriter& LiveIndex::tree() {
  if (tree_ == nullptr) tree_ = std::make_unique<TreeWriter>(newest_);
  return *tree_;
}

Refreshed LiveIndex::refresh() {
  return lock_isolated(writer_mutex_, [&] {
    if (is_closed_) throw InvalidArgument(directory_ + " was closed: open it again to follow it");
    if (is_in_memory() || options_.writable) return Refreshed::unchanged;
    try {
      const FloatingPointScope floating_point;
      return follow_directory();
    } catch (...) {
      tree_.reset();
      logged_.reset();
      store_.reset();  // the next refresh begins from the start
      newest_ = published_->get();
      throw;
    }
  });
}

Refreshed LiveIndex::follow_directory() {
  const std::shared_ptr<const Snapshot> before = newest_;
  storage::RecoveryInfo info;
  info.superseded = store_ == nullptr;
  if (store_ != nullptr) info = store_->refresh(replayer());
  is_moved_ |= info.moved;
  apply_logged();
  if (info.num_batches > 0) newest_ = tree_->finish_version(before->version + info.num_batches);
  if (info.superseded) load();
  // Where older files were put back and a checkpoint has been made since, only the version may tell.
  const bool is_another =
      is_moved_ || newest_->index_uuid != before->index_uuid || newest_->version < before->version;
  if (!is_another && newest_->version == before->version) return Refreshed::unchanged;
  if (is_another) require_same_attributes(*before);
  is_moved_ = false;
  published_->set(newest_);
  return is_another ? Refreshed::replaced : Refreshed::advanced;
}

// Weights are told apart by their place, and callers have theirs ready.
void LiveIndex::require_same_attributes(const Snapshot& before) const {
  const auto same_name = [](const Attribute& a, const Attribute& b) { return a.name == b.name; };
  if (!std::ranges::equal(before.attributes, newest_->attributes, same_name))
    throw InvalidArgument(directory_ +
                          " was replaced by an index with other attributes: open it again to search it");
}

RecoveryInfo LiveIndex::recovery() const {
  const std::lock_guard lock(writer_mutex_);
  return recovery_;
}

// ---- Changes

void LiveIndex::require_writable() const {
  if (!failure_.empty()) throw IoError(failure_);
  if (is_in_memory()) return;
  if (!options_.writable)
    throw InvalidArgument(directory_ + " was opened to read: open it as writable to change it");
  if (is_closed_) throw InvalidArgument(directory_ + " was closed: open it again to change it");
}

WriteResult LiveIndex::write(const WriteBatch& batch, const WriteOptions& options) {
  Request request{batch, options, {}, nullptr, false};
  std::unique_lock lock(queue_mutex_);
  queue_.push_back(&request);
  while (true) {
    queue_moved_.wait(lock, [&] { return request.is_done || !has_leader_; });
    if (request.is_done) break;
    has_leader_ = true;
    // On the stack: a leader without memory would leave the others waiting for ever.
    std::array<Request*, kMaxGroup> room{};
    const std::span group(room.data(), std::min(queue_.size(), kMaxGroup));
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(group.size());
    std::copy(queue_.begin(), end, group.begin());
    queue_.erase(queue_.begin(), end);
    lock.unlock();
    commit(group);
    lock.lock();
    for (Request* done : group) done->is_done = true;
    has_leader_ = false;
    queue_moved_.notify_all();
  }
  if (request.error) std::rethrow_exception(request.error);
  return request.result;
}

// Never throws: each request gets its result or its error.
void LiveIndex::commit(std::span<Request* const> group) {
  lock_isolated(writer_mutex_, [&] { commit_locked(group); });
}

void LiveIndex::commit_locked(std::span<Request* const> group) {
  const FloatingPointScope floating_point;
  std::vector<Applied> applied;
  try {
    require_writable();
    with_threads(options_.num_threads, [&] {
      for (Request* request : group) apply(*request, applied);
    });
    if (!applied.empty()) keep(applied);
    for (Request* request : group)
      if (request->result.version == 0) request->result.version = newest_->version;  // it changed nothing
  } catch (...) {
    tree_.reset();
    for (Request* request : group)
      if (!request->error) request->error = std::current_exception();
  }
}

void LiveIndex::apply(Request& request, std::vector<Applied>& applied) {
  try {
    NormalizedBatch batch = normalize(request.batch, request.options, tree());
    request.result = batch.result;
    if (batch.change.changes_nothing(tree().current().next_id)) return;
    const std::uint64_t version = newest_->version + applied.size() + 1;
    applied.push_back({&request, std::move(batch.change), version});
    tree().apply(applied.back().change);
    request.result.version = version;
  } catch (...) {
    request.error = std::current_exception();
    if (applied.empty() || applied.back().request != &request) return;
    applied.pop_back();
    apply_again(applied);
  }
}

// A tree that failed half-way is made anew, with what it had taken before.
void LiveIndex::apply_again(std::vector<Applied>& applied) {
  tree_.reset();
  for (const Applied& before : applied) tree().apply(before.change);
}

// Makes what was applied durable, as far as it is to be, and then visible.
void LiveIndex::keep(const std::vector<Applied>& applied) {
  const bool is_large = std::any_of(applied.begin(), applied.end(), [](const Applied& one) {
    return one.change.num_rows() >= kUnloggedRows;
  });
  // Before the batches are in the log, for it may want memory: what is in the log must not be reported as
  // failed.
  std::shared_ptr<const Snapshot> next = tree_->finish_version(applied.back().version);
  if (store_ != nullptr && is_large) return replace(std::move(next));
  if (store_ != nullptr) log(applied);
  newest_ = std::move(next);
  published_->set(newest_);
  consider_checkpoint();
}

void LiveIndex::log(const std::vector<Applied>& applied) {
  const std::size_t num_before = pending_.size(), bytes_before = pending_bytes_;
  try {
    for (const Applied& one : applied) {
      pending_.push_back(encode(one.change));
      pending_bytes_ += pending_.back().size();
    }
    const bool waits = options_.durability == Durability::batch && pending_bytes_ < kPendingBytes;
    if (!waits) write_pending();
  } catch (const std::bad_alloc&) {
    // These batches were never there; those before were acknowledged.
    pending_.resize(num_before);
    pending_bytes_ = bytes_before;
    throw;
  }
  if (options_.durability == Durability::sync) return sync();
  has_unflushed_ = true;
}

void LiveIndex::sync() {
  try {
    store_->sync();
  } catch (const IoError& error) {
    stop(error.what());
  }
  has_unflushed_ = false;
}

std::vector<storage::LogRecord> LiveIndex::pending_records(std::uint64_t last_version) const {
  std::vector<storage::LogRecord> records;
  for (const std::vector<std::byte>& body : pending_)
    records.push_back({last_version + records.size() + 1, body});
  return records;
}

void LiveIndex::write_pending() {
  if (pending_.empty()) return;
  try {
    store_->append(pending_records(store_->last_version()));
  } catch (const IoError& error) {
    stop(error.what());
  }
  pending_.clear();
  pending_bytes_ = 0;
}

// After an error of the disk nobody knows what it holds: the next open finds out.
void LiveIndex::stop(const std::string& why) {
  failure_ = why + "; the index takes no more changes until it is opened anew";
  throw IoError(failure_);
}

// The directory gets a version whose way is not in the log.
void LiveIndex::replace(std::shared_ptr<const Snapshot> next) {
  wait_for_checkpoint();
  write_pending();  // were it to fail, only the new version would be missing
  try {
    store_->replace(*next);
  } catch (const IoError& error) {
    stop(error.what());
  }
  has_unflushed_ = false;
  next_checkpoint_bytes_ = checkpoint_bytes(store_->snapshot_bytes());
  newest_ = std::move(next);
  published_->set(newest_);
}

void LiveIndex::flush() {
  lock_isolated(writer_mutex_, [&] { flush_locked(); });
}

void LiveIndex::flush_locked() {
  require_writable();
  if (is_in_memory()) return;
  write_pending();
  sync();
}

void LiveIndex::compact() {
  lock_isolated(writer_mutex_, [&] { compact_locked(); });
}

void LiveIndex::compact_locked() {
  require_writable();
  Change nothing;
  nothing.next_id = newest_->next_id;
  const std::shared_ptr<Snapshot> fresh = with_threads(
      options_.num_threads, [&] { return load_anew(*newest_, newest_->order().leaves, nothing); });
  fresh->version = newest_->version + 1;
  tree_.reset();
  if (store_ != nullptr) return replace(fresh);
  newest_ = fresh;
  published_->set(newest_);
}

void LiveIndex::close() {
  lock_isolated(writer_mutex_, [&] { close_locked(); });
}

void LiveIndex::close_locked() {
  if (is_in_memory() || is_closed_) return;
  is_closed_ = true;
  wait_for_checkpoint();
  tree_.reset();
  const std::unique_ptr<storage::Store> store = std::move(store_);
  if (!options_.writable || store == nullptr) return;
  if (!failure_.empty()) {
    if (!has_unflushed_) return;
    throw IoError(failure_ + ". Changes that had not been flushed may be lost");
  }
  if (!pending_.empty()) store->append(pending_records(store->last_version()));
  store->close();
}

// ---- Checkpoints

void LiveIndex::checkpoint() {
  lock_isolated(writer_mutex_, [&] { checkpoint_locked(); });
}

void LiveIndex::checkpoint_locked() {
  require_writable();
  if (is_in_memory()) throw InvalidArgument("an index in memory has no directory to write to: use save");
  wait_for_checkpoint();
  begin_checkpoint();
  finish_checkpoint();
  if (checkpoint_error_) std::rethrow_exception(std::exchange(checkpoint_error_, nullptr));
}

// In the background; what goes wrong with it is no error of the change that came last. The log stays, and the
// next attempt is made when it has grown again.
void LiveIndex::consider_checkpoint() {
  if (store_ == nullptr || checkpoint_runs_ || store_->log_bytes() < next_checkpoint_bytes_) return;
  wait_for_checkpoint();
  next_checkpoint_bytes_ = store_->log_bytes() + checkpoint_bytes(store_->snapshot_bytes());
  try {
    begin_checkpoint();
    checkpointer_ = std::thread([this] { finish_checkpoint(); });
  } catch (...) {
    checkpoint_runs_ = false;
  }
}

void LiveIndex::begin_checkpoint() {
  write_pending();
  store_->begin_checkpoint();  // which syncs the log
  has_unflushed_ = false;
  checkpointed_ = newest_;
  checkpoint_runs_ = true;
}

void LiveIndex::finish_checkpoint() noexcept {
  try {
    store_->finish_checkpoint(*checkpointed_);
    checkpoint_error_ = nullptr;
  } catch (...) {
    checkpoint_error_ = std::current_exception();
  }
  checkpointed_ = nullptr;
  checkpoint_runs_ = false;
}

void LiveIndex::wait_for_checkpoint() {
  if (!checkpointer_.joinable()) return;
  checkpointer_.join();
  if (!checkpoint_error_) next_checkpoint_bytes_ = checkpoint_bytes(store_->snapshot_bytes());
}

}  // namespace culmen
