// Which rows of a table belong to which shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/array.h"
#include "culmen/table.h"
#include "index/snapshot.h"

namespace culmen {

// [num_shards] The places of each shard's ids, ascending.
std::vector<Array<std::uint64_t>> places_by_shard(std::span<const std::int64_t> ids,
                                                  std::uint32_t num_shards);
std::vector<Array<std::uint64_t>> places_by_shard(std::span<const std::string_view> texts,
                                                  std::uint32_t num_shards);

// [num_shards] The rows of each shard, ascending, in `memory`. ids: of all rows; of IdType::text, the table has them.
std::vector<Array<std::uint64_t>> rows_by_shard(const TableView& table, std::span<const std::int64_t> ids,
                                                std::uint32_t num_shards,
                                                const std::shared_ptr<ArrayMemory>& memory = nullptr);

// The shard of a row at a position of the snapshot.
std::uint32_t shard_of_row(const Snapshot& snapshot, std::uint64_t row, std::uint32_t num_shards);

}  // namespace culmen
