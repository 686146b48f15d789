// Checkpointer: writes snapshots of an index to its directory, on demand or on a thread of its own beside the writer,
// so that the log stays short.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "index/snapshot.h"
#include "index/storage/store.h"

namespace culmen {

// For the writer, one thread at a time.
class Checkpointer {
 public:
  // The store is writable and outlives this.
  explicit Checkpointer(storage::Store& store) : store_(store) { reschedule(); }
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer() { wait(); }

  // Returns true if the log has grown enough and no checkpoint is running.
  bool is_due() const { return !is_running_ && store_.log_bytes() >= due_log_bytes_; }

  // Returns true if whoever opens the index next would take longer to apply the log than a checkpoint takes.
  bool is_due_at_close() const;

  // Both wait for a running checkpoint, then make one of `snapshot`, the last version in the log.
  void run(const Snapshot& snapshot);
  // In the background. After an error there the log stays, and the next checkpoint is due when it has grown again.
  void start(std::shared_ptr<const Snapshot> snapshot);

  void wait();

  // The store has a new snapshot: the next checkpoint is due when the log is large compared with it.
  void reschedule();

 private:
  void begin();

  storage::Store& store_;
  std::thread thread_;
  std::atomic<bool> is_running_ = false;  // in the background
  bool has_failed_ = false;               // the last one in the background
  std::uint64_t due_log_bytes_ = 0;
};

}  // namespace culmen
