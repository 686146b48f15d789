// A generation: all shards of a sharded index, as a build or a rebalance writes them beside the old ones. Replacing the
// manifest then switches to them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "culmen/index.h"
#include "index/snapshot.h"
#include "index/storage/file_system.h"
#include "shard/shard_manifest.h"

namespace culmen {

// Throws InvalidArgument unless there may be so many shards.
void check_num_shards(std::uint32_t num_shards);

// That of new shards in a directory, which may hold an index of either kind if `overwrite`. Throws InvalidArgument for other
// contents.
std::uint64_t next_generation(const storage::Directory& directory, bool overwrite);
// Removes what the shards of this generation have replaced: older shards, and an index without shards. A failure leaves files
// that the next build or rebalance removes.
void remove_replaced(storage::Directory& directory, std::uint64_t generation);

// Writes a shard to a new directory.
ShardEntry save_shard(const Index& index, const std::string& path);
ShardEntry save_shard(const Snapshot& snapshot, TableStatistics statistics, const std::string& path);

// Writes one shard after the other, then the manifest; then removes what they replace. `manifest` has what the new one keeps,
// and the new generation. After an error before the switch, the new shards are gone again.
using WriteShard = std::function<ShardEntry(std::uint32_t shard, const std::string& path)>;
void write_generation(storage::Directory& directory, ShardManifest manifest, std::uint32_t num_shards,
                      const WriteShard& write_shard);

}  // namespace culmen
