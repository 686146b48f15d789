// Indexes in directories: how they are opened, and what opening, refreshing and repairing them reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/resources.h"

namespace culmen {

// When a change of an index in a directory counts as done. An index in memory has no such choice.
enum class Durability : std::uint8_t {
  sync,   // it survives a power cut. The default
  os,     // the operating system has it: it survives the end of the process, but perhaps not a power cut
  batch,  // the log has it, in memory: lost with the process unless Index::flush came after
};

// "sync", "os", "batch" and back. Throws InvalidArgument listing them.
[[nodiscard]] Durability parse_durability(std::string_view name);
[[nodiscard]] std::string_view durability_name(Durability durability);

struct OpenOptions {
  // Take the directory's lock and allow changes. One writer at a time, in one process; readers need no lock.
  bool writable = false;
  Durability durability = Durability::sync;
  int num_threads = kAllCores;  // for changes
};

// What opening a directory found in its log.
struct RecoveryInfo {
  std::uint64_t num_batches = 0;  // applied: changes that are newer than the snapshot on disk
  std::uint64_t dropped_bytes =
      0;                     // left out at the end of the log: batches that no call had reported as done
  std::string dropped_from;  // the file that they were in; empty if there were none
};

// What Index::refresh has found in the directory.
enum class Refreshed : std::uint8_t {
  unchanged,
  advanced,  // a later version of the same index
  replaced,  // another index with the same attributes, whose versions do not continue the old ones
};

// What Index::repair could not save.
struct RepairReport {
  std::uint64_t rows_kept = 0;
  std::uint64_t rows_lost = 0;        // those of damaged leaves
  std::uint64_t batches_applied = 0;  // batches of the log
  std::vector<std::string> dropped;   // one line each: file, place, what was wrong
};

}  // namespace culmen
