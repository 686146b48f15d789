// Rewrites a sharded index for another number of shards. In memory are one old shard, and the rows of one new shard: the
// old shards are read again for each new one.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/floating_point_scope.h"
#include "culmen/error.h"
#include "culmen/sharded_index.h"
#include "index/storage/format.h"
#include "index/write/user_rows.h"
#include "shard/generation.h"
#include "shard/open_shard.h"
#include "shard/rows_by_shard.h"
#include "shard/shard_errors.h"

namespace culmen {
namespace {

bool are_equal(const std::shared_ptr<const Quantiles>& a, const std::shared_ptr<const Quantiles>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

// The shards before, which nobody changes meanwhile.
class OldShards {
 public:
  OldShards(const storage::Directory& directory, const ShardManifest& manifest, int num_threads)
      : directory_(directory), manifest_(manifest), options_{.num_threads = num_threads} {
    for (std::size_t s = 0; s < manifest.shards.size(); ++s)
      naming(shard_name(s, directory.path()), [&] {
        files_.push_back(storage::posix().open_directory(directory.path_of(manifest.directory_of(s))));
        locks_.push_back(files_.back()->lock(storage::kLockName));
      });
    for (std::size_t s = 0; s < manifest.shards.size(); ++s) look_at(*open(s), s);
  }

  // Of all shards but for their rows.
  const IndexMetadata& columns() const { return columns_; }

  Index build(std::uint32_t shard, std::uint32_t num_shards, const BuildOptions& options) const {
    return columns_.value_type == ValueType::float32 ? gathered<float>(shard, num_shards, options)
                                                     : gathered<double>(shard, num_shards, options);
  }

 private:
  std::shared_ptr<const Snapshot> open(std::size_t s) const {
    return snapshot_of(open_shard(directory_, manifest_, s, options_));
  }

  void look_at(const Snapshot& shard, std::size_t s) {
    if (s == 0) columns_ = shard.metadata();
    check_same_columns(shard, columns_, shard_name(s, directory_.path()));
    if (!are_equal(shard.quantiles, columns_.quantiles)) columns_.quantiles = nullptr;
    columns_.next_id = std::max(columns_.next_id, shard.next_id);
    if (columns_.stand_ins.empty()) columns_.stand_ins = shard.stand_ins;
  }

  template <typename T>
  Index gathered(std::uint32_t shard, std::uint32_t num_shards, const BuildOptions& options) const {
    UserRows<T> rows(columns_);
    std::vector<std::uint32_t> own;
    for (std::size_t s = 0; s < manifest_.shards.size(); ++s) {
      const std::shared_ptr<const Snapshot> old = open(s);
      for (const std::uint32_t leaf : old->order().leaves) {
        const std::uint64_t first = leaf * static_cast<std::uint64_t>(old->leaf_rows);
        own.clear();
        for (std::uint32_t r = 0; r < old->leaf(leaf).num_rows; ++r)
          if (shard_of_row(*old, first + r, num_shards) == shard) own.push_back(r);
        rows.add_rows(*old, leaf, own);
      }
    }
    TableView table = rows.view();
    if (columns_.id_type == IdType::text) table.ids = {};  // of the old shards, each for itself
    return Index::build(table, options);
  }

  const storage::Directory& directory_;
  const ShardManifest& manifest_;
  OpenOptions options_;
  std::vector<std::unique_ptr<storage::Directory>> files_;
  std::vector<std::unique_ptr<storage::DirectoryLock>> locks_;
  IndexMetadata columns_;
};

// What the caller leaves open is as it was.
BuildOptions options_of_new(const BuildOptions& given, const IndexMetadata& columns) {
  const BuildOptions before = build_options_of(columns);
  BuildOptions options = given;
  options.value_type = before.value_type;
  options.stand_ins = before.stand_ins;
  options.quantiles = before.quantiles;
  options.stays_on_device = false;
  if (given.leaf_rows == 0) options.leaf_rows = before.leaf_rows;
  if (given.partitioning == Partitioning::automatic && given.num_splits == 0 && given.num_partitions == 0) {
    options.partitioning = before.partitioning;
    if (given.shells == Shells::automatic) options.shells = before.shells;
    if (given.row_order == RowOrder::automatic) options.row_order = before.row_order;
    if (given.cluster.empty()) options.cluster = before.cluster;
  }
  return options;
}

}  // namespace

void ShardedIndex::rebalance(const std::filesystem::path& directory, std::uint32_t num_shards,
                             const BuildOptions& options) {
  const FloatingPointScope floating_point;
  check_num_shards(num_shards);
  if (!is_at(directory)) throw NoIndex(directory.string() + " holds no sharded index");
  const auto files = storage::posix().open_directory(directory.string());
  const auto lock = files->lock(storage::kLockName);
  const ShardManifest before = read_shard_manifest(*files);
  const OldShards old(*files, before, options.num_threads);
  const BuildOptions of_new = options_of_new(options, old.columns());
  ShardManifest next = before;
  ++next.generation;
  if (old.columns().id_type == IdType::int64)  // others are not assigned
    next.next_id = std::max(before.next_id, old.columns().next_id);
  write_generation(*files, std::move(next), num_shards, [&](std::uint32_t s, const std::string& path) {
    return save_shard(old.build(s, num_shards, of_new), path);
  });
}

}  // namespace culmen
