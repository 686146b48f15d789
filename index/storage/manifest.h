// The manifest: describes a snapshot and lists its files, as JSON (docs/format.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "index/snapshot.h"
#include "index/storage/current.h"
#include "index/storage/frame_file.h"
#include "index/storage/log_format.h"

namespace culmen::storage {

// The texts of one dictionary.
struct DictionarySize {
  std::uint64_t num_texts = 0, text_bytes = 0;

  std::uint64_t bytes() const { return num_texts * sizeof(std::uint64_t) + text_bytes; }
  friend bool operator==(const DictionarySize&, const DictionarySize&) = default;
};

// The partitioner and the dictionaries have files of their own; here are only their kind and sizes.
struct Manifest : IndexMetadata {
  SnapshotName snapshot;
  LogName log;  // the first log after the snapshot

  std::uint64_t num_leaves = 0;
  std::vector<std::uint64_t> level_nodes;  // as below

  Partitioning partitioning = Partitioning::random;
  RowOrder row_order = RowOrder::largest;
  std::vector<std::int32_t> splits;
  std::uint64_t num_partitions = 0;
  std::uint64_t num_cuts = 0;
  std::optional<std::uint32_t> cluster;  // as Partitioner::cluster

  bool has_gaps = false;                         // some row misses an attribute
  std::vector<DictionarySize> dictionary_sizes;  // [num_fields]; all zero of fields without a dictionary

  std::array<FileEntry, kFileKinds.size()> files;  // by FileKind; all zero if the index has no such file

  bool has_file(FileKind kind) const;

  FileEntry& file(FileKind kind) { return files[static_cast<std::size_t>(kind) - 1]; }
  const FileEntry& file(FileKind kind) const { return files[static_cast<std::size_t>(kind) - 1]; }
  std::uint64_t num_nodes() const;
  std::uint64_t file_bytes() const;  // of all files
};

// The number of inner nodes, level 1 first.
std::vector<std::uint64_t> level_nodes(const Snapshot& snapshot);

// Everything except the names of the snapshot and the log, and the files.
Manifest describe(const Snapshot& snapshot);

// Throws InvalidArgument if the name of a column is not UTF-8.
std::string to_text(const Manifest& manifest);

// `no`: for a text that may be damaged, as no digest vouches for it. Rows are saved without them.
enum class WithQuantiles : bool { no, yes };

// Checks the range of every number. Whether the files match is checked by their readers. Throws FormatError; `path` is
// for its message.
Manifest parse_manifest(const std::string& text, const std::string& path,
                        WithQuantiles quantiles = WithQuantiles::yes);

// The manifest that `current` names.
Manifest read_manifest(const Directory& directory, const Current& current);

}  // namespace culmen::storage
