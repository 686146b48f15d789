// Which rows of a table belong to which shard.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "culmen/array.h"

namespace culmen {

// [num_shards] The rows of each shard, ascending, in `memory`. ids: of all rows.
std::vector<Array<std::uint64_t>> rows_by_shard(std::span<const std::int64_t> ids, std::uint32_t num_shards,
                                                const std::shared_ptr<ArrayMemory>& memory = nullptr);

}  // namespace culmen
