#include <algorithm>

#include "culmen/error.h"
#include "index/storage/current.h"
#include "index/storage/directory_files.h"
#include "index/storage/log_writer.h"
#include "index/storage/snapshot_writer.h"
#include "index/storage/store.h"

namespace culmen::storage {
namespace {

// What a directory contains before a save.
struct Contents {
  bool has_index = false;
  bool has_shards = false;  // then a sharded index, whether or not there is a CURRENT
  // The number of the snapshot that CURRENT names; 0 if there is none or CURRENT is damaged.
  std::uint64_t live_number = 0;
  std::uint64_t last_number = 0;  // the highest in any name of a snapshot's files
  std::uint64_t last_log = 0;     // and of a log
};

std::uint64_t live_number(const Directory& directory) {
  const std::string text = replaceable_current_text(directory);
  try {
    return parse_current(text, directory.path_of(kCurrentName)).snapshot_number;
  } catch (const FormatError&) {
    return 0;  // damaged, and about to be replaced
  }
}

Contents survey(const Directory& directory, bool overwrite) {
  Contents contents;
  bool has_foreign = false;
  for (const std::string& name : directory.list()) {
    has_foreign |= !is_ours(name);
    contents.has_shards |= name == kShardsName;
    contents.has_index |= name == kCurrentName;
    contents.last_number = std::max(contents.last_number, snapshot_number_of(name));
    contents.last_log = std::max(contents.last_log, log_number_of(name));
  }
  const bool is_taken = contents.has_index || contents.has_shards;
  if (!is_taken && has_foreign)
    throw InvalidArgument(directory.path() + " is not empty and holds no index: choose another directory");
  if (is_taken && !overwrite) throw_not_replaced(directory, contents.has_shards);
  if (contents.has_index) contents.live_number = live_number(directory);
  contents.last_number = std::max(contents.last_number, contents.live_number);
  return contents;
}

// The empty log of a new snapshot. The destructor removes it unless keep() was called.
class NewLog {
 public:
  NewLog(Directory& directory, const LogName& name, std::uint64_t version)
      : directory_(directory), log_(LogWriter::create(directory, name, version, Uuid{})) {}
  NewLog(const NewLog&) = delete;
  NewLog& operator=(const NewLog&) = delete;
  ~NewLog() {
    if (!kept_) quietly([this] { remove_quietly(directory_, log_name(name().number)); });
  }

  void keep() { kept_ = true; }
  const LogName& name() const { return log_.name(); }
  LogBound bound() const { return {name().number, log_.end().offset, log_.end().chain}; }

 private:
  Directory& directory_;
  LogWriter log_;
  bool kept_ = false;
};

void save_locked(const Snapshot& snapshot, FileSystem& file_system, Directory& directory, bool overwrite) {
  const Contents before = survey(directory, overwrite);
  // Removes leftovers first, to free their space, but only after this sync: then no crash brings back an older CURRENT.
  directory.sync();
  remove_quietly(directory, kNewCurrentName);
  const bool live_is_known = !before.has_index || before.live_number > 0;
  if (live_is_known) remove_other_snapshots(directory, before.live_number);
  const SnapshotName name{file_system.random_uuid(), number_after(before.last_number, directory)};
  NewLog log(directory, {number_after(before.last_log, directory), file_system.random_uuid()},
             snapshot.version);
  // The saved index is a new one, whatever it was saved from.
  SnapshotWriter writer(snapshot, file_system.random_uuid(), name, log.name(), directory);
  try {
    writer.run(log.bound());
  } catch (const IoError& error) {
    if (!writer.switched()) throw;
    log.keep();
    throw IoError(std::string(error.what()) + "; the new index is in place but may not survive a power cut");
  }
  log.keep();
  remove_other_snapshots(directory, name.number);
  remove_logs(directory, 0, log.name().number);
  if (!before.has_shards) return;
  directory.remove(kShardsName);  // from now on CURRENT counts
  directory.sync();
  remove_other_shards(directory, 0);
}

void save_in(const Snapshot& snapshot, FileSystem& file_system, Directory& directory, bool overwrite) {
  survey(directory, overwrite);  // throws before a lock file is made
  const auto lock = directory.lock(kLockName);
  try {
    save_locked(snapshot, file_system, directory, overwrite);
  } catch (...) {
    const std::vector<std::string> names = list_quietly(directory);
    const auto is_there = [&](const char* name) { return std::ranges::find(names, name) != names.end(); };
    if (!is_there(kCurrentName) && !is_there(kShardsName)) remove_quietly(directory, kLockName);
    throw;
  }
}

// Rejects what could be written but not read again.
void check_savable(const Snapshot& snapshot) {
  if (to_text(describe(snapshot)).size() + 4096 > kMaxManifestBytes)
    throw InvalidArgument("the names of the columns are too long: at most 16 MiB in all");
}

}  // namespace

void save(const Snapshot& snapshot, FileSystem& file_system, const std::string& path, bool overwrite) {
  check_savable(snapshot);
  const bool created = file_system.make_directory(path);
  try {
    const auto directory = file_system.open_directory(path);
    if (created) directory->sync_parent();
    save_in(snapshot, file_system, *directory, overwrite);
  } catch (...) {
    try {
      if (created) file_system.remove_directory(path);
    } catch (const Error&) {
      // Either the switch was made and the directory is not empty, or the first error says more than this one.
    }
    throw;
  }
}

}  // namespace culmen::storage
