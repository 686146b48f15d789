// LogWriter: sends changes to the log of a directory, and knows which of them are durable. Those that may be lost for a while
// (Durability::batch) wait in memory for others. After an error of the disk it takes no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "culmen/open.h"
#include "index/snapshot.h"
#include "index/storage/store.h"

namespace culmen {

// For one thread at a time. Calls that write throw IoError if they fail, or if one before them did.
class LogWriter {
 public:
  // The store is writable, and outlives all calls but has_failed() and require_no_failure().
  LogWriter(storage::Store& store, Durability durability) : store_(store), durability_(durability) {}

  // Each body is a version. They are as durable on return as the durability asks. After std::bad_alloc none of them is logged.
  void add(std::vector<std::vector<std::byte>> bodies);
  // All that was added is durable on return.
  void flush();
  // Makes `snapshot` the index without logging it (Store::replace), after all that was added.
  void replace(const Snapshot& snapshot);
  // The last call that writes. Throws only if what was added may be lost.
  void close();

  bool has_failed() const { return !failure_.empty(); }
  void require_no_failure() const;
  // For errors that leave the directory unknown until it is opened again. Throws IoError.
  [[noreturn]] void fail(const std::string& why);

 private:
  std::vector<storage::LogRecord> waiting_records() const;
  void write_waiting();
  void sync();

  storage::Store& store_;
  Durability durability_;
  std::vector<std::vector<std::byte>> waiting_;  // not written to the log yet
  std::uint64_t waiting_bytes_ = 0;
  bool has_unsynced_ = false;  // changes were acknowledged since the last sync
  std::string failure_;        // why no more changes are taken
};

}  // namespace culmen
