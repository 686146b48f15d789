// Opens the shards that a manifest lists. Errors name the shard.
#pragma once

#include <cstddef>
#include <string>

#include "culmen/index.h"
#include "index/index_metadata.h"
#include "index/storage/file_system.h"
#include "shard/shard_manifest.h"

namespace culmen {

// Throws IoError for one that is missing, FormatError for one that is damaged, another index, or older than listed.
Index open_shard(const storage::Directory& directory, const ShardManifest& manifest, std::size_t shard,
                 const OpenOptions& options);

// Throws FormatError if a shard has other columns than the first one.
void check_same_columns(const IndexMetadata& shard, const IndexMetadata& first, const std::string& name);

}  // namespace culmen
