// Builds the directories of a sharded index, and rewrites them for another number of shards.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "base/floating_point_scope.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "culmen/sharded_index.h"
#include "index/build/stand_ins.h"
#include "index/columns.h"
#include "index/storage/current.h"
#include "index/storage/directory_files.h"
#include "index/storage/manifest.h"
#include "index/table_shape.h"
#include "shard/row_subset.h"
#include "shard/shard_manifest.h"
#include "shard/sharded_core.h"

namespace culmen {
namespace {

void check_num_shards(std::uint32_t num_shards) {
  if (num_shards == 0 || num_shards > kMaxShards)
    throw InvalidArgument(std::to_string(num_shards) + " shards; there are 1 to " +
                          std::to_string(kMaxShards));
}

// The type of values and the stand-ins are those of the whole table.
BuildOptions options_of_shards(const TableView& table, const BuildOptions& options) {
  return with_threads(options.num_threads, [&] {
    const TableStats stats = table_stats(table, options.value_type);
    check_ids_unique(table.ids);
    if (table.num_rows == 0)
      throw InvalidArgument(
          "a sharded index is built from a table with rows, which determine what stands in for "
          "missing values");
    BuildOptions of_shards = options;
    of_shards.value_type = stats.value_type;
    of_shards.stays_on_device = false;
    if (!options.stand_ins.empty()) return of_shards;
    const std::vector<double> stored = stand_ins_of(table, stats);
    for (std::size_t i = 0; i < stored.size(); ++i)
      of_shards.stand_ins.push_back(oriented(stored[i], table.attributes[i].preference));
    return of_shards;
  });
}

// What building may find in a directory.
ShardManifest survey(const storage::Directory& directory, bool overwrite) {
  ShardManifest before;
  before.generation = 0;
  bool has_shards = false;
  for (const std::string& name : directory.list()) {
    const std::uint64_t generation = generation_of(name);
    before.generation = std::max(before.generation, generation);
    has_shards = has_shards || name == storage::kShardsName;
    const bool is_known =
        generation > 0 || name.starts_with(storage::kShardsName) || name == storage::kLockName;
    if (!is_known)
      throw InvalidArgument(directory.path() +
                            " is not empty and holds no sharded index: choose another directory");
  }
  if (has_shards && !overwrite)
    throw InvalidArgument(directory.path() + " holds a sharded index, and `overwrite` is not set");
  return before;
}

// A failure leaves files that the next build or rebalance removes.
void remove_generations_but(const storage::Directory& directory, std::uint64_t kept) {
  for (const std::string& name : storage::list_quietly(directory))
    if (generation_of(name) > 0 && generation_of(name) != kept)
      storage::quietly([&] { std::filesystem::remove_all(directory.path_of(name)); });
}

ShardEntry write_shard(const Table& rows, const BuildOptions& options, const std::string& path) {
  const Index index = Index::build(rows.view(), options);
  index.save(path);
  const auto saved = storage::posix().open_directory(path);
  const storage::Current current = storage::parse_current(storage::read_current_text(*saved), path);
  const storage::Manifest manifest = storage::read_manifest(*saved, current);
  return {manifest.index_uuid, manifest.version, index.statistics()};
}

}  // namespace

void write_generation(storage::Directory& directory, ShardManifest manifest, std::uint32_t num_shards,
                      const TableView& table, std::span<const std::int64_t> ids,
                      const BuildOptions& options) {
  std::vector<std::vector<std::uint64_t>> rows = rows_by_shard(ids, num_shards);
  bool switched = false;
  manifest.shards.clear();
  try {
    for (std::uint32_t s = 0; s < num_shards; ++s) {
      const Table own = subset_of(table, ids, rows[s]);
      rows[s] = {};
      manifest.shards.push_back(write_shard(own, options, directory.path_of(manifest.directory_of(s))));
    }
    write_shard_manifest(directory, manifest, switched);
  } catch (...) {
    for (std::uint32_t s = 0; s < num_shards && !switched; ++s)
      storage::quietly([&] { std::filesystem::remove_all(directory.path_of(manifest.directory_of(s))); });
    throw;
  }
  remove_generations_but(directory, manifest.generation);
}

void ShardedIndex::build(const TableView& table, const std::filesystem::path& directory,
                         const ShardedBuildOptions& options) {
  const FloatingPointScope floating_point;
  check_num_shards(options.num_shards);
  const BuildOptions of_shards = options_of_shards(table, options.build);
  const std::vector<std::int64_t> ids = ids_of_rows(table, 0);
  storage::FileSystem& file_system = storage::posix();
  const bool created = file_system.make_directory(directory.string());
  try {
    const auto files = file_system.open_directory(directory.string());
    if (created) files->sync_parent();
    survey(*files, options.overwrite);  // throws before a lock file is made
    const auto lock = files->lock(storage::kLockName);
    ShardManifest manifest = survey(*files, options.overwrite);
    ++manifest.generation;
    manifest.uuid = file_system.random_uuid();
    if (table.ids.empty()) manifest.next_id = static_cast<std::int64_t>(table.num_numbers());
    write_generation(*files, std::move(manifest), options.num_shards, table, ids, of_shards);
  } catch (...) {
    if (created && !is_at(directory)) storage::quietly([&] { std::filesystem::remove_all(directory); });
    throw;
  }
}

void ShardedIndex::rebalance(const std::filesystem::path& directory, std::uint32_t num_shards,
                             const BuildOptions& options) {
  check_num_shards(num_shards);
  Core(directory, {.writable = true, .num_threads = options.num_threads}).rebalance(num_shards, options);
}

}  // namespace culmen
