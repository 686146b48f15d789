// Writes a snapshot into a directory, under a number that no file has yet, and switches CURRENT to it.
#pragma once

#include "index/snapshot.h"
#include "index/storage/current.h"
#include "index/storage/file_system.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

class SnapshotWriter {
 public:
  // `index_uuid`: of the index that this is a version of.
  SnapshotWriter(const Snapshot& snapshot, const Uuid& index_uuid, const SnapshotName& name,
                 const LogName& log, Directory& directory);
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;
  // Removes all files of this snapshot unless the switch was made.
  ~SnapshotWriter();

  // Durable on return. `log`: how far the snapshot's first log is known to be durable. If this fails after the switch,
  // a power cut may bring back the old CURRENT, so the files that it names must stay.
  void run(const LogBound& log);

  bool switched() const { return switched_; }
  const Current& current() const { return current_; }
  std::uint64_t file_bytes() const { return manifest_.file_bytes(); }

 private:
  template <typename Write>
  void write_frame_file(FileKind kind, std::uint64_t num_frames, Write&& write);
  void write_frame_files();
  void write_manifest();

  const Snapshot& snapshot_;
  Manifest manifest_;
  Current current_;
  Directory& directory_;
  bool switched_ = false;
};

}  // namespace culmen::storage
