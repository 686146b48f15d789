// An index directory: a snapshot, and logs of the batches that came after it. docs/format.md describes each
// byte.
//
//   CURRENT           names the manifest and says how far the last log is known to be whole
//   MANIFEST-n        what the index is a table of; names, sizes and digests of the files below; the first
//                     log
//   SNAP-n-leaves     one frame per leaf          SNAP-n-nodes        one frame per inner node
//   SNAP-n-labels     one frame per leaf          SNAP-n-partitions   one frame
//   WAL-m             batches, in order; sealed where the next log goes on
//   LOCK              held by the one process that writes
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "index/snapshot.h"
#include "index/storage/file_system.h"
#include "index/storage/log_reader.h"
#include "index/storage/log_writer.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

// Makes `snapshot` the index in `directory`, which is created if it is missing. Durable on return. Whatever
// happens on the way, the directory holds the old index or the new one, whole; after an error before the
// switch to the new one, no file of it stays behind. Files that are not ours are never touched. Throws
// IoError, and InvalidArgument if an index is there and `overwrite` is false, or if something else is.
void save(const Snapshot& snapshot, FileSystem& file_system, const std::string& directory, bool overwrite);

// The snapshot of an index whose logs hold no batch; FormatError if one does. As safe as Store.
std::shared_ptr<Snapshot> load(FileSystem& file_system, const std::string& directory);

struct RecoveryInfo {
  std::uint64_t num_batches = 0;
  // Behind the last whole batch. A power cut or a crash left them, and nothing that was ever acknowledged as
  // durable is among them; for a reader, or another process is just writing them.
  std::uint64_t dropped_bytes = 0;
  std::string dropped_from;  // path of that log
  // Read-only: CURRENT names another snapshot by now, or the path leads to another directory. Open the store
  // anew.
  bool superseded = false;
  // Superseded, and not by a later state of the same index: it is another directory, or older files were put
  // back.
  bool moved = false;
};

// An open index directory. Every byte that is read is checked, and what it gives out is safe to use whoever
// made the files: errors are IoError, or FormatError naming the file and the byte.
//
// One thread at a time, except that finish_checkpoint may run beside append, sync, last_version and the two
// sizes. Destroying a store without close() loses nothing that was synced.
class Store {
 public:
  using UseBatch = std::function<void(std::uint64_t version, std::span<const std::byte> body)>;

  // Loads the newest snapshot. A writable store holds LOCK; IoError naming the process if another does.
  // `file_system` outlives the store.
  static std::unique_ptr<Store> open(FileSystem& file_system, const std::string& directory, bool writable);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  // Once.
  std::shared_ptr<Snapshot> take_snapshot() { return std::move(snapshot_); }

  // Once, first of all: gives every batch after the snapshot to `use`, in order of version, without a gap.
  // All of them are durable before `use` sees them. A torn end of the last log is left out and reported; a
  // writable store cuts it off, and is then ready to append. If `use` throws, the store is of no further use.
  RecoveryInfo replay(const UseBatch& use);
  // Read-only, after replay: the batches that came since.
  RecoveryInfo refresh(const UseBatch& use);

  // Writable, after replay. Versions count on from last_version(). One write; nothing is durable before
  // sync(). After an error of a write or a sync all calls but the sizes throw IoError: open the index anew.
  void append(std::span<const LogRecord> group);
  void sync();
  std::uint64_t last_version() const { return log_->end().version; }

  // A checkpoint makes a snapshot of the index at last_version() the one to start from. In between appends
  // this sends those that follow to a new log; all before are durable on return. If it throws but append
  // still works, or if the second step fails or never comes, then nothing is lost: logs are read one after
  // the other.
  void begin_checkpoint();
  // The snapshot of the version at which the latest checkpoint began. May take long. Retires the files
  // before.
  void finish_checkpoint(const Snapshot& snapshot);

  // Makes `snapshot` the index, past the log: what a batch too large for it does, or a new load of all rows.
  // Versions count on from that of the snapshot. Everything before is durable on return, too. If it throws,
  // the index is what it was; if the switch was made by then, IoError says so, and the store is of no further
  // use.
  void replace(const Snapshot& snapshot);

  // What replay would have to read, and what the snapshot takes.
  std::uint64_t log_bytes() const { return older_log_bytes_ + log_->end().offset; }
  std::uint64_t snapshot_bytes() const { return snapshot_bytes_; }

  // Syncs, and writes down where the log ends: from then on any damage to it is seen. Ends the use of a
  // store; on a read-only one it does nothing else.
  void close();

 private:
  // Where the latest checkpoint began.
  struct Checkpoint {
    LogName log;  // for what comes after it
    LogBound bound;
    std::uint64_t version = 0;
    std::uint64_t older_log_bytes = 0;
  };

  Store(FileSystem& file_system, std::unique_ptr<Directory> directory, bool writable);

  void load_current();
  bool is_moved() const;
  bool is_superseded() const;
  RecoveryInfo read_logs(const UseBatch& use);
  std::optional<LogReader::Batch> next_batch();
  void open_successor();
  void require_last_log() const;
  void start_writing();
  void retire_files(const LogName& first_log);
  void require_room_for(std::uint64_t version) const;

  FileSystem& file_system_;
  const std::unique_ptr<Directory> directory_;
  const bool writable_;
  std::unique_ptr<DirectoryLock> lock_;

  Current current_;
  LogName first_log_;
  std::shared_ptr<Snapshot> snapshot_;
  std::unique_ptr<LogReader> reader_;
  std::optional<LogWriter> log_;

  std::uint64_t last_snapshot_number_ = 0;  // the highest that a file ever had
  std::uint64_t last_log_number_ = 0;
  std::optional<Checkpoint> checkpoint_;
  std::atomic<std::uint64_t> older_log_bytes_ = 0;  // of the logs before the last one
  std::atomic<std::uint64_t> snapshot_bytes_ = 0;
};

}  // namespace culmen::storage
