// An index directory: a snapshot, and logs of the batches after it. docs/format.md describes each byte.
//
//   CURRENT           names the manifest and says how far the last log is known to be durable
//   MANIFEST-n        describes the snapshot; names, sizes and digests of its files; the first log
//   SNAP-n-leaves     one frame per leaf          SNAP-n-nodes        one frame per inner node
//   SNAP-n-labels     one frame per leaf          SNAP-n-partitions   one frame
//   SNAP-n-fields     one frame per leaf          SNAP-n-dictionaries frames of bounded size
//   WAL-m             batches, in order; ends with a seal if another log follows
//   LOCK              locked by the process that writes
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "culmen/open.h"
#include "index/snapshot.h"
#include "index/storage/file_system.h"
#include "index/storage/log_reader.h"
#include "index/storage/log_writer.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

// Makes `snapshot` the index in `directory`, which is created if it is missing. Durable on return. At any time the
// directory holds the complete old index or the complete new one. After an error before the switch, all new files are
// removed. Never touches files of other programs. Throws IoError, and InvalidArgument if the directory holds an index
// and `overwrite` is false, or if it holds anything else.
void save(const Snapshot& snapshot, FileSystem& file_system, const std::string& directory, bool overwrite);

// Loads an index whose logs hold no batch; throws FormatError if one does. As safe as Store.
std::shared_ptr<Snapshot> load(FileSystem& file_system, const std::string& directory,
                               Loading loading = Loading::whole);

struct RecoveryInfo {
  std::uint64_t num_batches = 0;
  // Bytes after the last whole batch. A power cut or a crash left them, or, for a reader, another process is writing
  // them. Nothing shows that they contain a batch that was reported as done.
  std::uint64_t dropped_bytes = 0;
  std::string dropped_from;  // path of that log
  // Read-only: CURRENT now names another snapshot, or the path leads to another directory. Open the store again.
  bool superseded = false;
  // Superseded, and not by a later state of the same index: this is another directory, or older files were restored.
  bool moved = false;
};

// An open index directory. Checks every byte that it reads, when it reads it (Loading); what it returns is safe to use whoever wrote the files.
// Errors are IoError, or FormatError naming the file and the byte.
//
// One thread at a time, except that finish_checkpoint may run concurrently with append, sync, last_version and the two
// sizes. Destroying a store without close() loses nothing that was synced.
class Store {
 public:
  using UseBatch = std::function<void(std::uint64_t version, std::span<const std::byte> body)>;

  // Loads the newest snapshot. A writable store holds LOCK; throws IoError naming the process if another one does.
  // `file_system` must outlive the store.
  static std::unique_ptr<Store> open(FileSystem& file_system, const std::string& directory, bool writable,
                                     Loading loading = Loading::whole,
                                     std::uint64_t memory = kUnlimitedMemory);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  // Call once.
  std::shared_ptr<Snapshot> take_snapshot() { return std::move(snapshot_); }

  // Call once, before all others: passes every batch after the snapshot to `use`, in order of version, without gaps.
  // Each is durable before `use` sees it. A torn end of the last log is skipped and reported; a writable store
  // truncates it and is then ready to append. If `use` throws, the store may only be destroyed.
  RecoveryInfo replay(const UseBatch& use);
  // About the bytes of logs that it would read.
  std::uint64_t bytes_to_replay() const { return reader_->file_bytes(); }
  // Read-only, after replay: passes the batches since the last call to `use`.
  RecoveryInfo refresh(const UseBatch& use);

  // Writable, after replay. Versions continue from last_version(). Appends with one write; nothing is durable before
  // sync(). After an error of a write or a sync, all calls but the sizes throw IoError: open the index again.
  void append(std::span<const LogRecord> group);
  void sync();
  std::uint64_t last_version() const { return log_->end().version; }

  // A checkpoint makes a snapshot of last_version() the new start of replay, in two steps. The first, between appends,
  // sends later batches to a new log; all earlier ones are durable on return. If it throws, or the second step fails or
  // never happens, nothing is lost: logs are read one after the other.
  void begin_checkpoint();
  // `snapshot`: the version at which the latest checkpoint began. May take long. Removes the files that the new
  // snapshot replaces.
  void finish_checkpoint(const Snapshot& snapshot);

  // Makes `snapshot` the index without logging it, after a very large batch or a compaction. Versions continue from
  // that of the snapshot. Everything is durable on return. If it throws before the switch, the index is unchanged;
  // after the switch, IoError says so, and the store may only be destroyed.
  void replace(const Snapshot& snapshot);

  // Reads the snapshot that a checkpoint or replace() has written, as open() does.
  std::shared_ptr<Snapshot> read_newest_snapshot() const;

  // Bytes that replay would read, and bytes of the snapshot.
  std::uint64_t log_bytes() const { return older_log_bytes_ + log_->end().offset; }
  std::uint64_t snapshot_bytes() const { return snapshot_bytes_; }

  // Syncs and records the end of the log in CURRENT, so that any later damage to the log is detected. The last call; on
  // a read-only store it does nothing.
  void close();

 private:
  // The state at which the latest checkpoint began.
  struct Checkpoint {
    LogName log;  // of the batches after it
    LogBound bound;
    std::uint64_t version = 0;
    std::uint64_t older_log_bytes = 0;
  };

  Store(FileSystem& file_system, std::unique_ptr<Directory> directory, bool writable, Loading loading,
        std::uint64_t memory);

  void load_current();
  bool is_moved() const;
  bool is_superseded() const;
  RecoveryInfo read_logs(const UseBatch& use);
  std::optional<LogReader::Batch> next_batch();
  void open_successor();
  void require_last_log() const;
  void start_writing();
  void retire_files(const LogName& first_log);
  void require_valid(std::uint64_t version) const;

  FileSystem& file_system_;
  const std::unique_ptr<Directory> directory_;
  const bool writable_;
  const Loading loading_;
  const std::uint64_t memory_;  // of what is read on touch
  std::unique_ptr<DirectoryLock> lock_;

  Current current_;
  LogName first_log_;
  std::shared_ptr<Snapshot> snapshot_;
  std::unique_ptr<LogReader> reader_;
  std::optional<LogWriter> log_;

  std::uint64_t last_snapshot_number_ = 0;  // highest number that a file ever had
  std::uint64_t last_log_number_ = 0;
  std::optional<Checkpoint> checkpoint_;
  std::atomic<std::uint64_t> older_log_bytes_ = 0;  // of the logs before the last one
  std::atomic<std::uint64_t> snapshot_bytes_ = 0;
};

}  // namespace culmen::storage
