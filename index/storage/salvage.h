// Reading what is sound of a damaged index directory. Each frame and each frame of the log is taken or left
// by its own checksum; nothing is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "index/storage/file_system.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

// The rows of the snapshot whose frames are sound, and what was left out.
struct Salvage {
  Manifest manifest;
  LogBound bound;                               // of CURRENT; all zero if it is damaged
  std::vector<std::int64_t> ids;                // each once
  std::vector<std::vector<std::byte>> columns;  // [num_attributes] of the stored type, oriented, finite
  std::vector<std::uint64_t> label_ends;        // [num_rows] in label_text; empty without labels
  std::vector<char> label_text;
  std::vector<std::string> dropped;  // one line each: file, place, what was wrong
};

// Throws FormatError if no manifest can be read, IoError if there is no such directory. Cost: reads all
// leaves and labels by one thread.
Salvage salvage(FileSystem& file_system, const std::string& directory);

// Gives every batch behind the snapshot to `use`, in order of version, as far as the logs are sound. Where
// they are not, or `use` throws FormatError, it stops, and adds a line to `salvage.dropped`. Returns how many
// batches `use` took.
using UseLoggedBatch = std::function<void(std::uint64_t version, std::span<const std::byte> body)>;
std::uint64_t salvage_log(FileSystem& file_system, const std::string& directory, Salvage& salvage,
                          const UseLoggedBatch& use);

}  // namespace culmen::storage
