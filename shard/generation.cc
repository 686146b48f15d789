#include "shard/generation.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/sharded_index.h"
#include "index/storage/current.h"
#include "index/storage/directory_files.h"
#include "index/storage/format.h"
#include "index/storage/manifest.h"
#include "index/storage/store.h"

namespace culmen {
namespace {

constexpr std::string_view kPiecesPrefix = "pieces-";  // temporary folders of builds from Python

}  // namespace

void check_num_shards(std::uint32_t num_shards) {
  if (num_shards == 0 || num_shards > kMaxShards)
    throw InvalidArgument(std::to_string(num_shards) + " shards; there are 1 to " +
                          std::to_string(kMaxShards));
}

std::uint64_t next_generation(const storage::Directory& directory, bool overwrite) {
  const std::vector<std::string> names = directory.list();
  const auto is_there = [&](const char* name) { return std::ranges::find(names, name) != names.end(); };
  const bool has_shards = is_there(storage::kShardsName), has_index = is_there(storage::kCurrentName);
  if ((has_shards || has_index) && !overwrite) storage::throw_not_replaced(directory, has_shards);
  if (has_index) storage::replaceable_current_text(directory);
  std::uint64_t last = 0;
  for (const std::string& name : names) {
    const std::uint64_t generation = storage::shard_generation_of(name);
    const bool is_known = generation > 0 || storage::is_ours(name) ||
                          name.starts_with(storage::kShardsName) || name.starts_with(kPiecesPrefix);
    if (!is_known && !has_shards && !has_index)
      throw InvalidArgument(directory.path() + " is not empty and holds no index: choose another directory");
    last = std::max(last, generation);
  }
  return last + 1;
}

void remove_replaced(storage::Directory& directory, std::uint64_t generation) {
  storage::remove_other_shards(directory, generation);
  const std::vector<std::string> names = storage::list_quietly(directory);
  if (std::ranges::find(names, storage::kCurrentName) == names.end()) return;
  storage::quietly([&] {
    storage::replaceable_current_text(directory);  // throws for a file that is not ours
    storage::remove_index(directory);
  });
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
  remove_replaced(directory, manifest.generation);
}

}  // namespace culmen
