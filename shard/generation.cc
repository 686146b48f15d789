#include "shard/generation.h"

#include <filesystem>
#include <utility>

#include "culmen/error.h"
#include "culmen/sharded_index.h"
#include "index/storage/current.h"
#include "index/storage/directory_files.h"
#include "index/storage/manifest.h"
#include "index/storage/store.h"

namespace culmen {
namespace {

// A failure leaves files that the next build or rebalance removes.
void remove_generations_but(const storage::Directory& directory, std::uint64_t kept) {
  for (const std::string& name : storage::list_quietly(directory))
    if (generation_of(name) > 0 && generation_of(name) != kept)
      storage::quietly([&] { std::filesystem::remove_all(directory.path_of(name)); });
}

}  // namespace

void check_num_shards(std::uint32_t num_shards) {
  if (num_shards == 0 || num_shards > kMaxShards)
    throw InvalidArgument(std::to_string(num_shards) + " shards; there are 1 to " +
                          std::to_string(kMaxShards));
}

ShardEntry save_shard(const Snapshot& snapshot, TableStatistics statistics, const std::string& path) {
  storage::save(snapshot, storage::posix(), path, false);
  const auto saved = storage::posix().open_directory(path);
  const storage::Current current = storage::parse_current(storage::read_current_text(*saved), path);
  const storage::Manifest manifest = storage::read_manifest(*saved, current);
  return {manifest.index_uuid, manifest.version, std::move(statistics)};
}

ShardEntry save_shard(const Index& index, const std::string& path) {
  return save_shard(*snapshot_of(index), index.statistics(), path);
}

void write_generation(storage::Directory& directory, ShardManifest manifest, std::uint32_t num_shards,
                      const WriteShard& write_shard) {
  bool switched = false;
  manifest.shards.clear();
  try {
    for (std::uint32_t s = 0; s < num_shards; ++s)
      manifest.shards.push_back(write_shard(s, directory.path_of(manifest.directory_of(s))));
    write_shard_manifest(directory, manifest, switched);
  } catch (...) {
    for (std::uint32_t s = 0; s < num_shards && !switched; ++s)
      storage::quietly([&] { std::filesystem::remove_all(directory.path_of(manifest.directory_of(s))); });
    throw;
  }
  remove_generations_but(directory, manifest.generation);
}

}  // namespace culmen
