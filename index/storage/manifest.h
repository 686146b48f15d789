// The manifest: what an index is a table of and which files it consists of, as JSON; and CURRENT, which names
// it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "index/snapshot.h"
#include "index/storage/frame_file.h"
#include "index/storage/log_reader.h"

namespace culmen::storage {

// Names and a few numbers per attribute: more than this is not a manifest of ours.
inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{16} << 20;

// The metadata are all but the partitioner, which is in a file of its own; here is what it is made from.
struct Manifest : IndexMetadata {
  SnapshotName snapshot;
  LogName log;  // the first one after the snapshot

  std::uint64_t num_leaves = 0;
  std::vector<std::uint64_t> level_nodes;  // how many inner nodes, level 1 first

  Partitioning partitioning = Partitioning::random;
  std::vector<std::int32_t> splits;
  std::uint64_t num_partitions = 0;
  std::uint64_t num_cuts = 0;

  std::array<FileEntry, kFileKinds.size()> files;  // by FileKind; labels are all zero if there are none

  FileEntry& file(FileKind kind) { return files[static_cast<std::size_t>(kind) - 1]; }
  const FileEntry& file(FileKind kind) const { return files[static_cast<std::size_t>(kind) - 1]; }
  std::uint64_t num_nodes() const;
  std::uint64_t file_bytes() const;  // of all files
};

// All but the names of the snapshot and the log, and the files.
Manifest describe(const Snapshot& snapshot);

// Throws InvalidArgument if an attribute's name is not UTF-8.
std::string to_text(const Manifest& manifest);

// Every number is checked against its range; that files hold what is said here is for their readers to check.
// Throws FormatError. `path` is for its text.
Manifest parse_manifest(const std::string& text, const std::string& path);

// The line in CURRENT.
struct Current {
  std::uint64_t snapshot_number = 0;
  std::uint64_t manifest_bytes = 0;
  Digest manifest_digest;
  LogBound log;

  friend bool operator==(const Current&, const Current&) = default;
};
std::string to_text(const Current& current);
Current parse_current(const std::string& text, const std::string& path);  // throws FormatError
// Whether this was written as a CURRENT of ours, damaged or not.
bool looks_like_current(const std::string& text);

}  // namespace culmen::storage
