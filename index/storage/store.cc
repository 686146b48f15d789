#include "index/storage/store.h"

#include <algorithm>

#include "base/assert.h"
#include "culmen/error.h"
#include "index/storage/current.h"
#include "index/storage/directory_files.h"
#include "index/storage/snapshot_files.h"
#include "index/storage/snapshot_writer.h"

namespace culmen::storage {

Store::Store(FileSystem& file_system, std::unique_ptr<Directory> directory, bool writable, Loading loading,
             std::uint64_t memory)
    : file_system_(file_system),
      directory_(std::move(directory)),
      writable_(writable),
      loading_(loading),
      memory_(memory) {}

Store::~Store() = default;

std::unique_ptr<Store> Store::open(FileSystem& file_system, const std::string& path, bool writable,
                                   Loading loading, std::uint64_t memory) {
  auto directory = file_system.open_directory(path);
  if (writable) read_current_text(*directory);  // throws before it makes a lock file where no index is
  std::unique_ptr<Store> store(new Store(file_system, std::move(directory), writable, loading, memory));
  if (writable) store->lock_ = store->directory_->lock(kLockName);
  store->load_current();
  return store;
}

void Store::load_current() {
  for (std::string text = read_current_text(*directory_);;) {
    // A writer may have crashed or failed between renaming CURRENT and syncing the directory.
    directory_->sync();
    try {
      current_ = parse_current(text, directory_->path_of(kCurrentName));
      const Manifest manifest = read_manifest(*directory_, current_);
      first_log_ = manifest.log;
      reader_ = std::make_unique<LogReader>(*directory_, manifest.log, manifest.version, current_.log);
      snapshot_ = read_snapshot(*directory_, manifest, loading_, memory_);
      snapshot_bytes_ = manifest.file_bytes();
      return;
    } catch (const Error&) {
      // A save or a checkpoint may have removed the files after we read CURRENT.
      std::string now = read_current_text(*directory_);
      if (now == text) throw;
      text = std::move(now);
    }
  }
}

// Returns true if the path now leads to another directory or to none, or if CURRENT is gone.
bool Store::is_moved() const {
  if (!directory_->is_at_its_path()) return true;
  const std::vector<std::string> names = directory_->list();
  return std::find(names.begin(), names.end(), kCurrentName) == names.end();
}

bool Store::is_superseded() const {
  const Current now = parse_current(read_current_text(*directory_), directory_->path_of(kCurrentName));
  return now.snapshot_number != current_.snapshot_number || now.manifest_digest != current_.manifest_digest;
}

RecoveryInfo Store::replay(const UseBatch& use) {
  CULMEN_ASSERT(reader_ != nullptr && !log_);
  RecoveryInfo info = read_logs(use);
  if (writable_) start_writing();
  return info;
}

RecoveryInfo Store::refresh(const UseBatch& use) {
  CULMEN_ASSERT(!writable_);
  RecoveryInfo info;
  info.moved = is_moved();
  info.superseded = info.moved || is_superseded();
  if (!info.superseded && !reader_->reopen(*directory_)) {
    info.superseded = true;
    info.moved = !is_superseded();  // otherwise a checkpoint has just removed the log
  }
  if (info.superseded) return info;
  reader_->refresh();
  return read_logs(use);
}

RecoveryInfo Store::read_logs(const UseBatch& use) {
  RecoveryInfo info;
  while (true) {
    std::optional<LogReader::Batch> batch;
    try {
      batch = next_batch();
    } catch (const Error&) {
      if (writable_ || !is_superseded()) throw;
      info.superseded = true;  // and the following logs were removed
      return info;
    }
    if (!batch) break;
    use(batch->version, batch->body);
    ++info.num_batches;
  }
  info.dropped_bytes = reader_->torn_bytes();
  if (info.dropped_bytes > 0) info.dropped_from = reader_->path();
  return info;
}

// The next batch of this log or of those that follow it.
std::optional<LogReader::Batch> Store::next_batch() {
  std::optional<std::uint64_t> doubted;
  while (true) {
    try {
      if (auto batch = reader_->next()) return batch;
      if (!reader_->successor()) {
        require_last_log();
        return std::nullopt;
      }
      open_successor();
      doubted.reset();
    } catch (const FormatError&) {
      // Another process may have been truncating a torn end or switching to the next log. Damage remains on a second
      // read.
      if (doubted == reader_->end().offset) throw;
      doubted = reader_->end().offset;
      reader_->refresh();
    }
  }
}

void Store::open_successor() {
  const LogName& next = *reader_->successor();
  if (reader_->name().number < current_.log.number && current_.log.number < next.number)
    reader_->throw_damaged_here("the log is not followed by the one that CURRENT refers to");
  auto reader = std::make_unique<LogReader>(*directory_, next, reader_->end().version, current_.log);
  older_log_bytes_ += reader_->end().offset;
  reader_ = std::move(reader);
}

// Also returns nothing for a log that a writer has removed meanwhile: it was a leftover, or CURRENT names another
// snapshot.
static std::optional<LogOrigin> origin_of(const Directory& directory, std::uint64_t number) {
  try {
    return read_log_origin(directory, number);
  } catch (const IoError&) {
    const std::vector<std::string> names = directory.list();
    if (std::find(names.begin(), names.end(), log_name(number)) != names.end()) throw;
    return std::nullopt;
  }
}

// The chain ends in a log without a seal. Throws if another log shows that there was more.
void Store::require_last_log() const {
  if (reader_->name().number < current_.log.number)
    reader_->throw_damaged_here("the log ends here, but the index was closed with " +
                                directory_->path_of(log_name(current_.log.number)));
  for (const std::string& name : directory_->list()) {
    const std::uint64_t number = log_number_of(name);
    if (number <= reader_->name().number) continue;
    const std::optional<LogOrigin> origin = origin_of(*directory_, number);
    if (!origin || origin->previous != reader_->name().uuid) continue;
    if (origin->has_frames || origin->version > reader_->end().version)
      reader_->throw_damaged_here("the log ends here, but " + directory_->path_of(name) +
                                  " continues it from a later version");
  }
}

void Store::start_writing() {
  for (const std::string& name : directory_->list()) {
    last_snapshot_number_ = std::max(last_snapshot_number_, snapshot_number_of(name));
    last_log_number_ = std::max(last_log_number_, log_number_of(name));
  }
  log_ = LogWriter::resume(*directory_, reader_->name(), reader_->end(), reader_->file_bytes(),
                           reader_->torn_bytes() > 0);
  reader_.reset();
  remove_quietly(*directory_, kNewCurrentName);
  remove_logs(*directory_, log_->name().number + 1, kMaxNumber + 1);
  retire_files(first_log_);
}

// Removes what neither the snapshot nor the logs from `first_log` on need.
void Store::retire_files(const LogName& first_log) {
  remove_other_snapshots(*directory_, current_.snapshot_number);
  remove_logs(*directory_, 0, first_log.number);
}

// Rejects a version that a later open would reject.
void Store::require_valid(std::uint64_t version) const {
  if (version > kMaxVersion)
    throw IoError(directory_->path() + " has reached the last version, " + std::to_string(kMaxVersion) +
                  "; save its rows as a new index");
}

void Store::append(std::span<const LogRecord> group) {
  CULMEN_ASSERT(lock_ != nullptr);
  require_valid(last_version() + group.size());
  log_->append(group);
}

void Store::sync() {
  CULMEN_ASSERT(lock_ != nullptr);
  log_->sync();
}

void Store::begin_checkpoint() {
  CULMEN_ASSERT(lock_ != nullptr);
  log_->sync();  // the header of the next log implies that all earlier versions are durable
  last_log_number_ = number_after(last_log_number_, *directory_);
  const LogName name{last_log_number_, file_system_.random_uuid()};
  LogWriter next = LogWriter::create(*directory_, name, last_version(), log_->name().uuid);
  try {
    directory_->sync();  // before the seal names it
  } catch (...) {
    remove_quietly(*directory_, log_name(name.number));
    throw;
  }
  log_->seal(name);
  older_log_bytes_ += log_->end().offset;
  log_ = std::move(next);
  checkpoint_ = {
      name, {name.number, log_->end().offset, log_->end().chain}, last_version(), older_log_bytes_};
}

void Store::finish_checkpoint(const Snapshot& snapshot) {
  CULMEN_ASSERT(checkpoint_ && snapshot.version == checkpoint_->version);
  last_snapshot_number_ = number_after(last_snapshot_number_, *directory_);
  SnapshotWriter writer(snapshot, snapshot.index_uuid, {file_system_.random_uuid(), last_snapshot_number_},
                        checkpoint_->log, *directory_);
  try {
    writer.run(checkpoint_->bound);
  } catch (...) {
    // The new and the old CURRENT lead to the same state, and the files of both exist.
    if (writer.switched()) current_ = writer.current();
    throw;
  }
  current_ = writer.current();
  snapshot_bytes_ = writer.file_bytes();
  older_log_bytes_ -= checkpoint_->older_log_bytes;
  retire_files(checkpoint_->log);
  checkpoint_.reset();
}

void Store::replace(const Snapshot& snapshot) {
  CULMEN_ASSERT(lock_ != nullptr && snapshot.version > last_version());
  require_valid(snapshot.version);
  log_->sync();
  last_log_number_ = number_after(last_log_number_, *directory_);
  last_snapshot_number_ = number_after(last_snapshot_number_, *directory_);
  const LogName name{last_log_number_, file_system_.random_uuid()};
  SnapshotWriter writer(snapshot, snapshot.index_uuid, {file_system_.random_uuid(), last_snapshot_number_},
                        name, *directory_);
  try {
    // It continues no other log, so until the switch it is a leftover.
    LogWriter next = LogWriter::create(*directory_, name, snapshot.version, Uuid{});
    writer.run({name.number, next.end().offset, next.end().chain});
    log_ = std::move(next);
  } catch (...) {
    if (!writer.switched()) remove_quietly(*directory_, log_name(name.number));
    throw;
  }
  current_ = writer.current();
  first_log_ = name;
  checkpoint_.reset();
  snapshot_bytes_ = writer.file_bytes();
  older_log_bytes_ = 0;
  retire_files(name);
}

std::shared_ptr<Snapshot> Store::read_newest_snapshot() const {
  CULMEN_ASSERT(lock_ != nullptr);
  return read_snapshot(*directory_, read_manifest(*directory_, current_), loading_, memory_);
}

void Store::close() {
  if (!writable_ || !log_) return;
  CULMEN_ASSERT(lock_ != nullptr);
  log_->finish();
  Current closed = current_;
  closed.log = {log_->name().number, log_->end().offset, log_->end().chain};
  bool switched = false;
  if (closed != current_) switch_current(*directory_, closed, switched);
  lock_.reset();
}

std::shared_ptr<Snapshot> load(FileSystem& file_system, const std::string& directory, Loading loading) {
  const auto store = Store::open(file_system, directory, false, loading);
  store->replay([&](std::uint64_t version, std::span<const std::byte>) {
    throw FormatError(directory + " holds changes after its snapshot: version " + std::to_string(version));
  });
  return store->take_snapshot();
}

}  // namespace culmen::storage
