// Gathers some rows of a caller's table into a table of their own: those of a shard, or one of each id.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "culmen/build.h"
#include "culmen/error.h"
#include "culmen/table.h"
#include "index/table_shape.h"

namespace culmen {

// Copies the rows, with the ids that `ids` has for all rows of the table. The table's shape and fields have been checked.
Table subset_of(const TableView& table, std::span<const std::int64_t> ids,
                std::span<const std::uint64_t> rows);

// The rows to keep so that no id is there twice, ascending; nullopt: all of them, or Duplicates::error.
std::optional<std::vector<std::uint64_t>> rows_of_distinct_ids(std::span<const std::int64_t> ids,
                                                               Duplicates duplicates);

// Calls build(table) with one row of each id. Its errors name the rows of the table that was given.
template <typename Build>
auto with_distinct_ids(const TableView& table, Duplicates duplicates, const Build& build) {
  if (duplicates == Duplicates::error) return build(table);
  check_shape(table);
  const std::optional<std::vector<std::uint64_t>> rows = rows_of_distinct_ids(table.ids, duplicates);
  if (!rows) return build(table);
  const Table distinct = subset_of(table, table.ids, *rows);
  try {
    return build(distinct.view());
  } catch (const RowError& error) {
    throw RowError((*rows)[error.row()], std::string(error.problem()));
  }
}

// Ids of all rows: those of the table, or from first_id on by the rows' numbers.
std::vector<std::int64_t> ids_of_rows(const TableView& table, std::int64_t first_id);

}  // namespace culmen
