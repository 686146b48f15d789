#include "shard/rows_by_shard.h"

#include "culmen/sharded_index.h"

namespace culmen {

std::vector<Array<std::uint64_t>> rows_by_shard(std::span<const std::int64_t> ids, std::uint32_t num_shards,
                                                const std::shared_ptr<ArrayMemory>& memory) {
  std::vector<Array<std::uint64_t>> rows(num_shards, Array<std::uint64_t>(memory));
  for (std::size_t row = 0; row < ids.size(); ++row) rows[shard_of(ids[row], num_shards)].push_back(row);
  return rows;
}

}  // namespace culmen
