#include <algorithm>

#include "culmen/error.h"
#include "index/storage/format.h"
#include "index/storage/manifest.h"
#include "index/storage/snapshot_files.h"
#include "index/storage/store.h"

namespace culmen::storage {
namespace {

// What stands in a directory before a publish.
struct Contents {
  bool has_index = false;
  std::uint64_t live_number =
      0;  // of the snapshot that CURRENT names; 0 if there is none or CURRENT is damaged
  std::uint64_t last_number = 0;  // the highest in any name
};

void remove_quietly(Directory& directory, const std::string& name) {
  try {
    directory.remove(name);
  } catch (...) {
    // It is never part of the index, and the next publish tries again. Destructors call this.
  }
}

bool is_ours(const std::string& name) {
  return name == kCurrentName || name == kNewCurrentName || name == kLockName || snapshot_number_of(name) > 0;
}

std::uint64_t live_number(const Directory& directory) {
  const auto file = directory.open(kCurrentName);
  std::string text(std::min<std::uint64_t>(file->size(), 256), '\0');
  file->read(0, std::as_writable_bytes(std::span(text)));
  if (!looks_like_current(text))
    throw InvalidArgument(file->path() + " is not culmen's: choose another directory");
  try {
    return parse_current(text, file->path()).snapshot_number;
  } catch (const FormatError&) {
    return 0;  // damaged, and about to be replaced
  }
}

Contents survey(const Directory& directory, bool overwrite) {
  Contents contents;
  bool has_foreign = false;
  for (const std::string& name : directory.list()) {
    has_foreign |= !is_ours(name);
    contents.has_index |= name == kCurrentName;
    contents.last_number = std::max(contents.last_number, snapshot_number_of(name));
  }
  if (!contents.has_index && has_foreign)
    throw InvalidArgument(directory.path() + " is not empty and holds no index: choose another directory");
  if (contents.has_index && !overwrite)
    throw InvalidArgument(directory.path() + " holds an index; use overwrite (--force)");
  if (contents.has_index) contents.live_number = live_number(directory);
  contents.last_number = std::max(contents.last_number, contents.live_number);
  if (contents.last_number >= kMaxSnapshotNumber)
    throw InvalidArgument(directory.path() + " has no snapshot number left: choose another directory");
  return contents;
}

std::vector<std::string> list_quietly(const Directory& directory) {
  try {
    return directory.list();
  } catch (...) {
    return {};
  }
}

// Removes what crashed publishes and replaced snapshots left: every file of a snapshot other than
// `live_number`.
void remove_leftovers(Directory& directory, std::uint64_t live_number) {
  for (const std::string& name : list_quietly(directory))
    if (snapshot_number_of(name) > 0 && snapshot_number_of(name) != live_number)
      remove_quietly(directory, name);
}

void write_text(Directory& directory, const std::string& name, const std::string& text) {
  const auto file = directory.create(name);
  file->append(std::as_bytes(std::span(text)));
  file->sync();
}

// Writes one snapshot under a number that no file has, and switches CURRENT to it.
class Publisher {
 public:
  Publisher(const Snapshot& snapshot, const SnapshotName& name, Directory& directory)
      : snapshot_(snapshot), manifest_(describe(snapshot)), directory_(directory) {
    manifest_.snapshot = name;
  }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Unless the switch was made, nothing of this snapshot stays.
  ~Publisher() {
    if (switched_) return;
    for (FileKind kind : kFileKinds) remove_quietly(directory_, file_name(kind, manifest_.snapshot.number));
    remove_quietly(directory_, manifest_name(manifest_.snapshot.number));
    remove_quietly(directory_, kNewCurrentName);
  }

  void run() {
    write_block_files();
    write_manifest();
    directory_.sync();  // all names are durable before one of them is given the index
    directory_.rename(kNewCurrentName, kCurrentName);
    switched_ = true;
    directory_.sync();
  }

  bool switched() const { return switched_; }

 private:
  template <typename Write>
  void write_block_file(FileKind kind, std::uint64_t num_blocks, Write&& write) {
    BlockFileWriter file(directory_, kind, manifest_.snapshot, num_blocks);
    write(file);
    manifest_.file(kind) = file.finish();
  }

  void write_block_files() {
    const std::vector<std::uint64_t> offsets = label_offsets(snapshot_);
    write_block_file(FileKind::leaves, manifest_.num_leaves,
                     [&](BlockFileWriter& file) { write_leaves(snapshot_, offsets, file); });
    write_block_file(FileKind::nodes, manifest_.num_nodes(),
                     [&](BlockFileWriter& file) { write_nodes(snapshot_, file); });
    write_block_file(FileKind::partitions, 1,
                     [&](BlockFileWriter& file) { write_partitions(snapshot_, file); });
    if (snapshot_.has_labels)
      write_block_file(FileKind::labels, manifest_.num_leaves,
                       [&](BlockFileWriter& file) { write_labels(snapshot_, offsets, file); });
  }

  void write_manifest() {
    const std::string text = to_text(manifest_);
    write_text(directory_, manifest_name(manifest_.snapshot.number), text);
    const Current current{manifest_.snapshot.number, text.size(), digest_of(std::as_bytes(std::span(text)))};
    write_text(directory_, kNewCurrentName, to_text(current));
  }

  const Snapshot& snapshot_;
  Manifest manifest_;
  Directory& directory_;
  bool switched_ = false;
};

void publish_locked(const Snapshot& snapshot, FileSystem& file_system, Directory& directory, bool overwrite) {
  const Contents before = survey(directory, overwrite);
  // Leftovers go first, for their space; but only once it is certain that no crash brings an older CURRENT
  // back.
  directory.sync();
  remove_quietly(directory, kNewCurrentName);
  const bool live_is_known = !before.has_index || before.live_number > 0;
  if (live_is_known) remove_leftovers(directory, before.live_number);
  Publisher publisher(snapshot, {file_system.random_uuid(), before.last_number + 1}, directory);
  try {
    publisher.run();
  } catch (const IoError& error) {
    if (!publisher.switched()) throw;
    throw IoError(std::string(error.what()) + "; the new index is in place but may not survive a power cut");
  }
  remove_leftovers(directory, before.last_number + 1);
}

void publish_in(const Snapshot& snapshot, FileSystem& file_system, Directory& directory, bool overwrite) {
  survey(directory, overwrite);  // refuse before a lock file is made
  const auto lock = directory.lock(kLockName);
  try {
    publish_locked(snapshot, file_system, directory, overwrite);
  } catch (...) {
    const std::vector<std::string> names = list_quietly(directory);
    if (std::find(names.begin(), names.end(), kCurrentName) == names.end())
      remove_quietly(directory, kLockName);
    throw;
  }
}

// Refuses what could be written but not be read again.
void check_publishable(const Snapshot& snapshot) {
  if (to_text(describe(snapshot)).size() + 4096 > kMaxManifestBytes)
    throw InvalidArgument("the names of the attributes are too long: together at most 16 MiB");
}

}  // namespace

void publish(const Snapshot& snapshot, FileSystem& file_system, const std::string& path, bool overwrite) {
  check_publishable(snapshot);
  const bool created = file_system.make_directory(path);
  try {
    const auto directory = file_system.open_directory(path);
    if (created) directory->sync_parent();
    publish_in(snapshot, file_system, *directory, overwrite);
  } catch (...) {
    try {
      if (created) file_system.remove_directory(path);
    } catch (const Error&) {
      // Not empty: the switch was made. Otherwise the first error says more than this one.
    }
    throw;
  }
}

}  // namespace culmen::storage
