// The manifest of a sharded index: the file SHARDS, which lists the shards. Replacing it switches the directory to other
// shards.
//
// The first line has the format's version and a checksum of the rest, which is JSON. The name of a shard's directory
// follows from the generation and its number, so that a manifest cannot lead elsewhere; build and rebalance write a new
// generation beside the old one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "culmen/statistics.h"
#include "index/storage/file_system.h"

namespace culmen {

struct ShardEntry {
  Uuid uuid = {};             // of its index
  std::uint64_t version = 0;  // at least
  TableStatistics statistics;
};

struct ShardManifest {
  Uuid uuid = {};
  std::uint64_t generation = 1;
  std::int64_t next_id = 0;  // no row without an id gets a smaller one
  std::vector<ShardEntry> shards;

  std::string directory_of(std::size_t shard) const;
};

std::string to_text(const ShardManifest& manifest);
// Throws FormatError; `path` is for its message.
ShardManifest parse_shard_manifest(const std::string& text, const std::string& path);

// Throws NoIndex if there is none.
ShardManifest read_shard_manifest(const storage::Directory& directory);
// Atomic, and durable on return. Sets `switched` once other processes see it (index/storage/directory_files.h).
void write_shard_manifest(storage::Directory& directory, const ShardManifest& manifest, bool& switched);

}  // namespace culmen
