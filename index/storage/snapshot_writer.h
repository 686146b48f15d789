// Writes a snapshot into a directory as the files of a number that no file has yet, and switches CURRENT to
// it.
#pragma once

#include "index/snapshot.h"
#include "index/storage/directory_files.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

class SnapshotWriter {
 public:
  // `index_uuid`: of the index in the directory, that this is a version of.
  SnapshotWriter(const Snapshot& snapshot, const Uuid& index_uuid, const SnapshotName& name,
                 const LogName& log, Directory& directory);
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;
  // Unless the switch was made, no file of this snapshot stays.
  ~SnapshotWriter();

  // Durable on return. `log` is how far the log that comes first is known to be durable. If this fails after
  // the switch, a power cut may bring back the old CURRENT: what it names must stay.
  void run(const LogBound& log);

  bool switched() const { return switched_; }
  const Current& current() const { return current_; }
  std::uint64_t file_bytes() const { return manifest_.file_bytes(); }

 private:
  template <typename Write>
  void write_frame_file(FileKind kind, std::uint64_t num_leaves, Write&& write);
  void write_frame_file();
  void write_manifest();

  const Snapshot& snapshot_;
  Manifest manifest_;
  Current current_;
  Directory& directory_;
  bool switched_ = false;
};

}  // namespace culmen::storage
