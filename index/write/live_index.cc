#include "index/write/live_index.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/floating_point_scope.h"
#include "base/free_memory.h"
#include "base/lock_isolated.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "index/write/normalize.h"
#include "index/write/reload.h"

namespace culmen {
namespace {

// A batch of so many rows is not logged: writing a snapshot at once is cheaper than writing the rows to the log first.
constexpr std::size_t kUnloggedRows = 1'000'000;
constexpr std::uint64_t kMemoryOfRebuilding = std::uint64_t{32} << 20;

// Of a writer's limit, one part is for what it reads, the other for what batches change beside it.
constexpr std::uint64_t kPartsOfLimit = 2;

// A map of ids takes as long to make as so many passes over the ids. A pass over few rows is faster than a search.
constexpr std::uint64_t kPassesOfMap = 64, kRowsForMap = 1 << 16;

std::vector<std::vector<std::byte>> encoded(const std::vector<GroupWriter::Applied>& applied) {
  std::vector<std::vector<std::byte>> bodies;
  for (const GroupWriter::Applied& one : applied) bodies.push_back(encode(one.change));
  return bodies;
}

}  // namespace

LiveIndex::LiveIndex(std::shared_ptr<const Snapshot> first)
    : published_(std::make_shared<Published>(first)), newest_(std::move(first)), keeps_beside_(false) {}

LiveIndex::LiveIndex(storage::FileSystem& file_system, const std::string& directory,
                     const OpenOptions& options)
    : file_system_(&file_system),
      directory_(directory),
      options_(options),
      keeps_beside_(options.loading == Loading::on_touch && (!options.writable || is_limited())) {
  load();
  if (options_.writable) beside_.reset();  // the writer goes on from its version
  published_ = std::make_shared<Published>(newest_);
}

LiveIndex::~LiveIndex() {
  try {
    lock_isolated(writer_mutex_, [&] { close_locked(); });
  } catch (...) {
    // Acknowledged changes are in the log. Callers who want the error call close().
  }
}

// ---- From the directory

// The newest snapshot and the log after it.
void LiveIndex::load() {
  const FloatingPointScope floating_point;
  storage::RecoveryInfo info;
  do {
    writer_.reset();
    logged_.reset();
    store_ = storage::Store::open(*file_system_, directory_, options_.writable, options_.loading,
                                  is_limited() ? part_of_limit() : options_.max_memory);
    newest_ = store_->take_snapshot();
    begin_beside();
    info = store_->replay(replayer());
  } while (info.superseded);
  recovery_ = {info.num_batches, info.dropped_bytes, info.dropped_from};
  if (info.num_batches > 0) newest_ = version_after_log(newest_->version + info.num_batches);
  if (!options_.writable) return;
  log_.emplace(*store_, options_.durability);
  checkpointer_.emplace(*store_);
}

// Of the snapshot that was just read.
void LiveIndex::begin_beside() {
  beside_.reset();
  if (keeps_beside_ && LogBeside::suits(*newest_)) beside_.emplace(newest_, store_->bytes_to_replay());
}

storage::Store::UseBatch LiveIndex::replayer() {
  return [this](std::uint64_t version, std::span<const std::byte> body) {
    try {
      add_logged(body);
    } catch (const FormatError& error) {
      throw FormatError(directory_ + ": version " + std::to_string(version) + " in the log: " + error.what());
    }
    if (beside_) return;
    // The first rows alone determine the stand-ins.
    const bool may_be_first = writer_->current().stand_ins.empty();
    if (may_be_first || logged_->is_full()) apply_logged();
  };
}

// Folds the batches of the log into large ones. If there is no tree for them, they are kept beside it.
void LiveIndex::add_logged(std::span<const std::byte> body) {
  if (beside_) return beside_->add(decode(body, newest_->leaf_shape(), newest_->fields));
  const Snapshot& current = writer().current();
  if (!logged_)
    logged_.emplace(
        current.leaf_shape(), current.next_id, [this](std::int64_t id) { return writer_->contains(id); },
        current.fields);
  logged_->add(decode(body, current.leaf_shape(), current.fields));
}

std::shared_ptr<const Snapshot> LiveIndex::version_after_log(std::uint64_t version) {
  if (beside_) return beside_->version(version);
  apply_logged();
  return writer_->finish_version(version);
}

std::shared_ptr<const Snapshot> LiveIndex::fold() {
  return lock_isolated(writer_mutex_, [&] {
    // Trees that may be larger than memory follow one that has no rows, and a log cannot be applied to them.
    if (options_.max_memory != kUnlimitedMemory) return newest_;
    if (newest_->logged != nullptr) publish(load_anew(*newest_));
    beside_.reset();
    keeps_beside_ = false;
    return newest_;
  });
}

void LiveIndex::apply_logged() {
  if (!logged_) return;
  writer().apply(logged_->fold());
  logged_.reset();
}

VersionWriter& LiveIndex::writer() {
  if (writer_ != nullptr) return *writer_;
  if (!options_.writable) newest_->require_no_memory_limit();
  writer_ = make_writer(newest_);
  return *writer_;
}

Refreshed LiveIndex::refresh(const Prepare& prepare) {
  return lock_isolated(writer_mutex_, [&] {
    if (is_closed_) throw InvalidArgument(directory_ + " was closed: open it again to follow it");
    if (is_in_memory() || options_.writable) return Refreshed::unchanged;
    try {
      const FloatingPointScope floating_point;
      return follow_directory(prepare);
    } catch (...) {
      writer_.reset();
      logged_.reset();
      beside_.reset();
      store_.reset();  // the next refresh loads everything
      newest_ = published_->get();
      throw;
    }
  });
}

Refreshed LiveIndex::follow_directory(const Prepare& prepare) {
  const std::shared_ptr<const Snapshot> before = newest_;
  storage::RecoveryInfo info;
  info.superseded = store_ == nullptr;
  if (store_ != nullptr) info = store_->refresh(replayer());
  is_moved_ |= info.moved;
  if (info.num_batches > 0) newest_ = version_after_log(before->version + info.num_batches);
  if (info.superseded) load();
  // If older files were restored and a checkpoint was made since, only the version shows it.
  const bool is_another =
      is_moved_ || newest_->index_uuid != before->index_uuid || newest_->version < before->version;
  if (!is_another && newest_->version == before->version) return Refreshed::unchanged;
  if (is_another) require_same_attributes(*before);
  if (prepare) prepare(*newest_);
  is_moved_ = false;
  published_->set(newest_);
  return is_another ? Refreshed::replaced : Refreshed::advanced;
}

// Callers hold weights in the order of the attributes, and ids.
void LiveIndex::require_same_attributes(const Snapshot& before) const {
  const auto same_name = [](const Attribute& a, const Attribute& b) { return a.name == b.name; };
  if (!std::ranges::equal(before.attributes, newest_->attributes, same_name))
    throw InvalidArgument(directory_ +
                          " was replaced by an index with other attributes: open it again to search it");
  if (before.id_type != newest_->id_type)
    throw InvalidArgument(
        directory_ + " was replaced by an index whose ids are of another type: open it again to search it");
}

RecoveryInfo LiveIndex::recovery() const {
  const std::lock_guard lock(writer_mutex_);
  return recovery_;
}

// ---- Rows by their ids

// Calls use(writer) if it is of this snapshot and not at work: a search must not wait for a disk.
template <typename Use>
auto LiveIndex::with_id_map(const Snapshot& snapshot, const Use& use)
    -> std::optional<decltype(use(std::declval<VersionWriter&>()))> {
  const std::lock_guard one_search(find_mutex_);  // so that searches do not turn each other away
  const std::unique_lock lock(writer_mutex_, std::try_to_lock);
  if (!lock || writer_ == nullptr || &writer_->current() != &snapshot) return {};
  return use(*writer_);
}

std::optional<std::vector<std::uint64_t>> LiveIndex::find_rows(const Snapshot& snapshot,
                                                               std::span<const std::int64_t> ids) {
  const auto find = [&](const VersionWriter& writer) { return writer.find_rows(ids); };
  std::optional<std::vector<std::uint64_t>> rows = with_id_map(snapshot, find);
  const bool is_due = !rows && snapshot.num_rows >= kRowsForMap && ++num_passes_ % kPassesOfMap == 0;
  if (!is_due) return rows;
  make_id_map(snapshot);
  return with_id_map(snapshot, find);
}

std::optional<std::vector<TextPlace>> LiveIndex::find_texts(const Snapshot& snapshot,
                                                            std::span<const std::string_view> texts) {
  return with_id_map(snapshot, [&](const VersionWriter& writer) {
    std::vector<TextPlace> places;
    for (const std::string_view text : texts) places.push_back(writer.find_text(text));
    return places;
  });
}

bool LiveIndex::has_id_map(const Snapshot& snapshot) {
  return with_id_map(snapshot, [](const VersionWriter&) { return true; }).has_value();
}

void LiveIndex::make_id_map(const Snapshot& snapshot) {
  lock_isolated(writer_mutex_, [&] {
    if (writer_ != nullptr || newest_.get() != &snapshot || is_closed_) return;
    try {
      writer();
    } catch (const FormatError&) {  // an id is in two rows: changes say so, and repair
    } catch (const std::bad_alloc&) {
    }
  });
}

// ---- Changes

void LiveIndex::require_writable() const {
  if (log_) log_->require_no_failure();
  if (is_in_memory()) return;
  if (!options_.writable)
    throw InvalidArgument(directory_ + " was opened to read: open it as writable to change it");
  if (is_closed_) throw InvalidArgument(directory_ + " was closed: open it again to change it");
}

WriteResult LiveIndex::write(const WriteBatch& batch, const WriteOptions& options) {
  CommitRequest request{batch, options};
  queue_.run(request, [this](std::span<CommitRequest* const> group) {
    lock_isolated(writer_mutex_, [&] { commit_locked(group); });
  });
  if (request.error) std::rethrow_exception(request.error);
  return request.result;
}

void LiveIndex::check(const WriteBatch& batch, const WriteOptions& options) {
  lock_isolated(writer_mutex_, [&] {
    const FloatingPointScope floating_point;
    require_writable();
    with_threads(options_.num_threads, [&] { static_cast<void>(normalize(batch, options, writer())); });
  });
}

// Never throws: each request gets its result or its error.
void LiveIndex::commit_locked(std::span<CommitRequest* const> group) {
  const FloatingPointScope floating_point;
  GroupWriter written(newest_, writer_, is_in_memory() ? "the index" : std::string_view(directory_));
  try {
    require_writable();
    with_threads(options_.num_threads, [&] {
      if (is_merge_due()) merge();
      written.apply(group);
    });
    if (!written.applied().empty()) commit_applied(written.applied());
    for (CommitRequest* request : group)
      if (request->result.version == 0) request->result.version = newest_->version;  // it changed nothing
  } catch (...) {
    writer_.reset();
    for (CommitRequest* request : group)
      if (!request->error) request->error = std::current_exception();
  }
}

// Makes the batches durable, as far as the options ask for it, and then visible.
void LiveIndex::commit_applied(const std::vector<GroupWriter::Applied>& applied) {
  const bool is_large = std::ranges::any_of(
      applied, [](const GroupWriter::Applied& one) { return one.change.num_rows() >= kUnloggedRows; });
  // Before logging: this may run out of memory, and a logged batch must not be reported as failed.
  std::shared_ptr<const Snapshot> next = writer_->finish_version(applied.back().version);
  if (log_ && is_large)
    return replace(next->logged == nullptr ? next : load_anew(*next, directory_of_merges()));
  if (log_) log_->add(encoded(applied));
  publish(std::move(next));
  consider_checkpoint();
}

void LiveIndex::publish(std::shared_ptr<const Snapshot> next) {
  newest_ = std::move(next);
  published_->set(newest_);
}

// Publishes a version that bypassed the log.
void LiveIndex::replace(std::shared_ptr<const Snapshot> next) {
  checkpointer_->wait();
  log_->replace(*next);
  checkpointer_->reschedule();
  publish(std::move(next));
  if (!is_limited()) return;
  try {
    go_on_from_files();
  } catch (const Error& error) {
    log_->fail(error.what());
  }
}

// In the background. Its errors are no errors of the batch that came last.
void LiveIndex::consider_checkpoint() {
  if (!checkpointer_ || is_limited() || !checkpointer_->is_due()) return;
  try {
    flush_locked();
    checkpointer_->start(newest_);
  } catch (...) {
    // The log stays.
  }
}

// ---- Within a limit of memory

std::uint64_t LiveIndex::part_of_limit() const {
  return std::max<std::uint64_t>(1, options_.max_memory / kPartsOfLimit);
}

std::filesystem::path LiveIndex::directory_of_merges() const {
  return options_.temp_directory.empty() ? std::filesystem::path(directory_) : options_.temp_directory;
}

// About the memory of what batches have changed: rows in a tree of their own, a row of the log for whatever else is kept of
// it, and the ids that are gone. Of an index that was empty when it was opened, that of the whole tree.
std::uint64_t LiveIndex::bytes_beside() const {
  constexpr std::uint64_t kBytesOfErased = 32;
  if (newest_->logged == nullptr) return newest_->has_memory_limit() ? 0 : newest_->tree_bytes();
  const Snapshot& rows = *newest_->logged->rows;
  return rows.arena->leaf_slots() * rows.arena->bytes_of_leaf(true) +
         rows.arena->node_slots() * rows.arena->bytes_of_node(true) +
         newest_->logged->erased.size() * kBytesOfErased + store_->log_bytes();
}

bool LiveIndex::is_merge_due() const {
  if (!is_limited() || newest_->num_rows == 0) return false;
  return bytes_beside() > part_of_limit() || checkpointer_->is_due();
}

// Makes one tree of that of the files and what is beside it, writes it, and goes on from there. The version stays the same.
void LiveIndex::merge() {
  flush_locked();
  writer_.reset();  // its maps take memory
  std::shared_ptr<const Snapshot> whole =
      newest_->logged == nullptr ? newest_ : load_anew(*newest_, directory_of_merges());
  give_back_freed_memory();
  checkpointer_->run(*whole);
  whole.reset();
  go_on_from_files();
}

void LiveIndex::go_on_from_files() {
  writer_.reset();
  publish(store_->read_newest_snapshot());
  give_back_freed_memory();
}

// ---- Calls of the public API

void LiveIndex::checkpoint() {
  lock_isolated(writer_mutex_, [&] {
    require_writable();
    if (is_in_memory()) throw InvalidArgument("an index in memory has no directory to write to: use save");
    flush_locked();
    write_snapshot();
  });
}

void LiveIndex::write_snapshot() {
  if (!is_limited()) return checkpointer_->run(*newest_);
  if (newest_->logged == nullptr && newest_->has_memory_limit()) return;  // the files have it
  with_threads(options_.num_threads, [this] { merge(); });
}

void LiveIndex::flush() {
  lock_isolated(writer_mutex_, [&] { flush_locked(); });
}

void LiveIndex::flush_locked() {
  require_writable();
  if (log_) log_->flush();
}

void LiveIndex::compact(const std::filesystem::path& temp_directory) {
  lock_isolated(writer_mutex_, [&] {
    require_writable();
    const std::shared_ptr<Snapshot> fresh =
        with_threads(options_.num_threads, [&] { return rebuilt(temp_directory); });
    fresh->version = newest_->version + 1;
    writer_.reset();
    if (log_) return replace(fresh);
    publish(fresh);
  });
}

// All rows of the newest version in a tree of their own. In temporary files, they are read from the directory, by a reader
// that keeps few of them in memory; not if it could not read the log, which it keeps beside the tree.
std::shared_ptr<Snapshot> LiveIndex::rebuilt(const std::filesystem::path& temp_directory) {
  if (is_limited())
    return load_anew(*newest_, temp_directory.empty() ? directory_of_merges() : temp_directory);
  if (!temp_directory.empty() && !is_in_memory() && LogBeside::suits(*newest_)) {
    flush_locked();
    checkpointer_->wait();
    const LiveIndex reader(*file_system_, directory_,
                           {.num_threads = options_.num_threads,
                            .loading = Loading::on_touch,
                            .max_memory = kMemoryOfRebuilding});
    return load_anew(*reader.newest_, temp_directory);
  }
  Change nothing;
  nothing.next_id = newest_->next_id;
  return reload_rows(*newest_, newest_->order().leaves, nothing, temp_directory);
}

void LiveIndex::close() {
  lock_isolated(writer_mutex_, [&] {
    shorten_log();
    close_locked();
  });
}

// A checkpoint instead of the log, for whoever opens the index next.
void LiveIndex::shorten_log() {
  if (!checkpointer_ || log_->has_failed()) return;
  try {
    checkpointer_->wait();
    if (!checkpointer_->is_due_at_close()) return;
    flush_locked();
    write_snapshot();
  } catch (...) {
    // The log stays. If it could not be written, closing says so.
  }
}

void LiveIndex::close_locked() {
  if (is_in_memory() || is_closed_) return;
  is_closed_ = true;
  checkpointer_.reset();
  writer_.reset();
  const std::unique_ptr<storage::Store> store = std::move(store_);
  if (log_ && store != nullptr) log_->close();
}

}  // namespace culmen
