// Builds the directory of a sharded index.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/floating_point_scope.h"
#include "base/temporary_files.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "culmen/sharded_index.h"
#include "index/build/contiguous_table.h"
#include "index/build/stand_ins.h"
#include "index/build/table_quantiles.h"
#include "index/build/text_table.h"
#include "index/columns.h"
#include "index/field_rows.h"
#include "index/row_subset.h"
#include "index/storage/directory_files.h"
#include "index/table_shape.h"
#include "shard/generation.h"
#include "shard/open_shard.h"
#include "shard/rows_by_shard.h"
#include "shard/shard_manifest.h"

namespace culmen {
namespace {

// The type of values, the stand-ins and the quantiles are those of the whole table. Without rows, the first ones that are
// written determine the stand-ins, and there are no quantiles.
BuildOptions options_of_shards(const TableView& table, const BuildOptions& options) {
  return with_threads(options.num_threads, [&] {
    const std::shared_ptr<ArrayMemory> memory = temporary_files(options.temp_directory);
    const TableStats stats = table_stats(table, options.value_type);
    if (table.id_type != IdType::text) check_ids_unique(table.ids, table.id_type, memory);
    BuildOptions of_shards = options;
    of_shards.value_type = stats.value_type;
    of_shards.stays_on_device = false;
    if (table.num_rows == 0) return of_shards;
    if (options.quantiles.empty()) of_shards.quantiles = quantiles_of(table, stats.value_type);
    if (!options.stand_ins.empty()) return of_shards;
    const std::vector<double> stored = stand_ins_of(table, stats, memory);
    for (std::size_t i = 0; i < stored.size(); ++i)
      of_shards.stand_ins.push_back(oriented(stored[i], table.attributes[i].preference));
    return of_shards;
  });
}

void build_distinct(const TableView& table, const std::filesystem::path& directory,
                    const ShardedBuildOptions& options) {
  check_num_shards(options.num_shards);
  const BuildOptions of_shards = options_of_shards(table, options.build);
  const std::shared_ptr<ArrayMemory> memory = temporary_files(options.build.temp_directory);
  const Array<std::int64_t> ids = ids_of_rows(table, 0, memory);
  storage::FileSystem& file_system = storage::posix();
  const bool created = file_system.make_directory(directory.string());
  try {
    const auto files = file_system.open_directory(directory.string());
    if (created) files->sync_parent();
    next_generation(*files, options.overwrite);  // throws before a lock file is made
    const auto lock = files->lock(storage::kLockName);
    ShardManifest manifest;
    manifest.generation = next_generation(*files, options.overwrite);
    manifest.uuid = file_system.random_uuid();
    if (table.ids.empty() && table.id_type != IdType::text)
      manifest.next_id = static_cast<std::int64_t>(table.num_numbers());
    std::vector<Array<std::uint64_t>> rows = rows_by_shard(table, ids, options.num_shards, memory);
    write_generation(*files, std::move(manifest), options.num_shards,
                     [&](std::uint32_t s, const std::string& path) {
                       const Table own = subset_of(table, ids, rows[s], memory);
                       rows[s] = Array<std::uint64_t>();
                       return save_shard(Index::build(own.view(), of_shards), path);
                     });
  } catch (...) {
    if (created && !ShardedIndex::is_at(directory))
      storage::quietly([&] { std::filesystem::remove_all(directory); });
    throw;
  }
}

// Numbers for all texts find those that are there twice. Each shard has numbers of its own.
void build_any(const TableView& table, const std::filesystem::path& directory,
               const ShardedBuildOptions& options) {
  TableView numbered = table;
  Array<std::int64_t> numbers;
  if (table.id_type == IdType::text) {
    numbers = with_threads(options.build.num_threads, [&] {
      return ids_of_texts(table, options.build.duplicates, temporary_files(options.build.temp_directory));
    });
    numbered.ids = numbers;
  }
  with_distinct_ids(numbered, options.build,
                    [&](const TableView& distinct) { build_distinct(distinct, directory, options); });
}

}  // namespace

void ShardedIndex::build(const TableView& table, const std::filesystem::path& directory,
                         const ShardedBuildOptions& options) {
  const FloatingPointScope floating_point;
  if (options.build.temp_directory.empty()) return build_any(table, directory, options);
  check_shape(table);
  check_fields(table);
  build_any(ContiguousTable(table, temporary_files(options.build.temp_directory)).view(), directory, options);
}

}  // namespace culmen
