// The rows of a shard: gathers some rows of a caller's table into a table of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "culmen/table.h"

namespace culmen {

// [num_shards] The rows of each shard, ascending. ids: of all rows.
std::vector<std::vector<std::uint64_t>> rows_by_shard(std::span<const std::int64_t> ids,
                                                      std::uint32_t num_shards);

// Copies the rows, with the ids that `ids` has for all rows of the table. The table's shape and fields have been checked.
Table subset_of(const TableView& table, std::span<const std::int64_t> ids,
                std::span<const std::uint64_t> rows);

// Ids of all rows: those of the table, or from first_id on by the rows' numbers.
std::vector<std::int64_t> ids_of_rows(const TableView& table, std::int64_t first_id);

}  // namespace culmen
