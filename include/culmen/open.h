// Indexes in directories: options of opening, and reports of opening, refreshing and repairing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/resources.h"

namespace culmen {

// When a change of an index in a directory is durable. An index in memory has no durability.
enum class Durability : std::uint8_t {
  sync,  // on return it survives a power failure. The default
  os,  // on return the operating system has it: it survives a crash of the process, but perhaps not a power failure
  batch,  // on return it is in the log's buffer: lost with the process unless Index::flush is called first
};

// "sync", "os", "batch" and back. Throws InvalidArgument listing them.
[[nodiscard]] Durability parse_durability(std::string_view name);
[[nodiscard]] std::string_view durability_name(Durability durability);

// When the rows of an index in a directory are read, and checked.
enum class Loading : std::uint8_t {
  // All on opening: a damaged file is an error then, and later calls read no file. The default
  whole,
  // Each leaf and each node once, when a call first needs it: opening takes no time, and one search or a small change reads
  // little. A file that is damaged, or cut while the index is open, is a FormatError or IoError of every call that needs the
  // place; other calls are not affected, except that after a refused change later ones may need all. Large changes,
  // checkpoints, copies to devices, and what reads all rows, such as a scan, read all that is left, and make the checks
  // between leaves and nodes that `whole` makes on opening. A reader searches the rows of a log beside the rows of the files, so it
  // reads a log of any length and no more; verify, save, Engine::ta and copies to devices bring both together first
  on_touch,
};

// "whole", "on_touch" and back. Throws InvalidArgument listing them.
[[nodiscard]] Loading parse_loading(std::string_view name);
[[nodiscard]] std::string_view loading_name(Loading loading);

inline constexpr std::uint64_t kUnlimitedMemory = 0;

// Where the codes of an index are kept that is larger than memory: 4 bits a value, which bound a row's score.
enum class CodesIn : std::uint8_t {
  files,  // of leaves that are in memory alone. The default
  // Of all rows, beside the limit of memory, in an eighth of the room of float32 values: a search that its bounds by nodes hardly help
  // asks them which leaves may have a row for it, and reads those. Opening, and a refresh behind a checkpoint of the
  // writer, read the whole table once
  memory,
  device,  // the same on a GPU, which looks at all of them in some microseconds a million rows
};

// "files", "memory", "device" and back. Throws InvalidArgument listing them.
[[nodiscard]] CodesIn parse_codes_in(std::string_view name);
[[nodiscard]] std::string_view codes_in_name(CodesIn codes);

struct OpenOptions {
  // Lock the directory and allow changes. One process at a time can write; readers need no lock.
  bool writable = false;
  Durability durability = Durability::sync;
  int num_threads = kAllCores;  // for changes
  Loading loading = Loading::whole;
  // Bytes of leaves and nodes that an index with Loading::on_touch keeps, about: of a table that is larger, what was not used for a
  // while is given back, and read and checked again when it is needed. Threads keep what they are reading, so a search may
  // exceed it; dictionaries, and the log of a reader, are not counted. What needs all rows in memory throws InvalidArgument: save, verify,
  // Engine::ta, copies to devices while there is a log; so does Loading::whole.
  // A writer keeps what batches change beside the rows of the files. Half of the limit is for that: once it is more, or the log
  // is due for a checkpoint, the next batch first makes one tree of both and writes it as a checkpoint, which takes as long as
  // compact(), 2 to 5 s for a million rows of 8 attributes; searches go on meanwhile. Beside the limit there are a batch
  // while it is written, the ids of rows that a filter erases, a log that another writer has left, up to the first batch, and
  // some 70 MB for 16 million rows while one tree is made
  std::uint64_t max_memory = kUnlimitedMemory;
  // Of a writer with max_memory: a directory for temporary files while it makes one tree, about five times the room of the
  // table. Empty: the index's own
  std::filesystem::path temp_directory = {};
  // Of a reader with max_memory. A writer, and an index without a limit, are opened with CodesIn::files, or throw InvalidArgument.
  // Searches by Engine::automatic of weights alone, with conditions on attributes and ids that are left out alone, use
  // them; others are answered as without. On a GPU that lacks the room OutOfDeviceMemory is thrown
  CodesIn codes = CodesIn::files;
  int codes_device = 0;  // the CUDA number of the GPU, for CodesIn::device
};

// What opening a directory found in its log.
struct RecoveryInfo {
  std::uint64_t num_batches = 0;  // applied: changes that are newer than the snapshot on disk
  // At the end of the log, and no whole batch: what a crash or a power failure left of the last write, or a last batch that
  // is damaged. With Durability::sync the former was never reported as done
  std::uint64_t dropped_bytes = 0;
  std::string dropped_from;  // their file; empty if there were none
};

// What Index::refresh found in the directory.
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
  // At least so many batches of the log that had been written: damaged ones, and all after them, which build on them. Their
  // rows are not in rows_lost
  std::uint64_t batches_lost = 0;
  std::vector<std::string> dropped;  // one line each: file, position, fault
};

}  // namespace culmen
