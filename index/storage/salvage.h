// Reads the undamaged part of an index directory. Accepts or drops each frame by its own checksum. Writes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "index/storage/file_system.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

// A field of the rows that were saved.
struct SavedField {
  std::vector<std::int64_t> keys;        // [num_rows]; 0 where missing; empty for stored texts
  std::vector<std::uint64_t> text_ends;  // [num_rows] in text; only for stored texts
  std::vector<char> text;
  std::vector<std::uint8_t> missing;  // [num_rows] 0 or 1
};

// The rows in sound frames of the snapshot, and what was dropped.
struct Salvage {
  Manifest manifest;              // with the dictionaries that can be read, others null
  LogBound bound;                 // of CURRENT; all zero if it is damaged
  std::vector<std::int64_t> ids;  // each once
  // [num_attributes] of the stored type, oriented; finite, or NaN where missing.
  std::vector<std::vector<std::byte>> columns;
  std::vector<SavedField> fields;         // [num_fields]; keys are codes of the dictionaries above
  std::vector<std::uint64_t> label_ends;  // [num_rows] in label_text; empty without labels
  std::vector<char> label_text;
  std::vector<std::string> dropped;  // one line each: file, byte, fault
};

// Throws FormatError if no manifest can be read, IoError if there is no such directory. Cost: one thread reads all
// leaves, labels, fields and texts.
//
// Without the fields of a leaf its rows miss all of them, but for stored texts that are not empty. Which attributes they
// missed is unknown, too: values equal to the stand-in count as missing, and a line says how many of which attributes.
Salvage salvage(FileSystem& file_system, const std::string& directory);

// Adds a line to `salvage.dropped` for each damaged frame that no row needs: nodes and partitions.
void list_damaged_tree(FileSystem& file_system, const std::string& directory, Salvage& salvage);

// Rows that a batch of the log changes.
struct BatchSize {
  std::uint64_t added = 0, removed = 0;
};

// What to say of bytes at the end of a log that are no whole batch.
std::string torn_end_text(const std::string& log_path, std::uint64_t num_bytes);

// What becomes of the batches of the log.
struct BatchUser {
  std::function<void(std::span<const std::byte> body)> apply;  // throws FormatError
  // Nothing if it is no batch of this index.
  std::function<std::optional<BatchSize>(std::span<const std::byte> body)> size_of;
};

struct SalvagedLog {
  std::uint64_t num_applied = 0;
  // At least so many batches that had been written are lost: those that are damaged and, as batches build on each other, all
  // after them. Not those of a torn end, of which nothing shows whether they were ever complete.
  std::uint64_t num_lost = 0;
};

// Applies every batch after the snapshot, in order of version. Stops and adds a line to `salvage.dropped` where the logs
// are damaged or `apply` throws FormatError.
SalvagedLog salvage_log(FileSystem& file_system, const std::string& directory, Salvage& salvage,
                        const BatchUser& user);

}  // namespace culmen::storage
