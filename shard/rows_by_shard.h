// Which rows of a table belong to which shard.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace culmen {

// [num_shards] The rows of each shard, ascending. ids: of all rows.
std::vector<std::vector<std::uint64_t>> rows_by_shard(std::span<const std::int64_t> ids,
                                                      std::uint32_t num_shards);

}  // namespace culmen
