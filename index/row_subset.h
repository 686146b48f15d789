// Gathers some rows of a caller's table into a table of their own: those of a shard, or one of each id.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/temporary_files.h"
#include "culmen/build.h"
#include "culmen/error.h"
#include "culmen/table.h"
#include "index/table_shape.h"

namespace culmen {

// Copies the rows into `memory`, with the ids that `ids` has for all rows of the table; none if it is empty, as those of
// IdType::text are labels. The table's shape and fields have been checked.
Table subset_of(const TableView& table, std::span<const std::int64_t> ids,
                std::span<const std::uint64_t> rows, const std::shared_ptr<ArrayMemory>& memory = nullptr);

// The rows to keep so that no id is there twice, ascending; nullopt: all of them, or Duplicates::error.
std::optional<Array<std::uint64_t>> rows_of_distinct_ids(
    std::span<const std::int64_t> ids, Duplicates duplicates,
    const std::shared_ptr<ArrayMemory>& memory = nullptr);

// Calls build(table) with one row of each id. Its errors name the rows of the table that was given.
template <typename Build>
auto with_distinct_ids(const TableView& table, const BuildOptions& options, const Build& build) {
  if (options.duplicates == Duplicates::error) return build(table);
  check_shape(table);
  const std::shared_ptr<ArrayMemory> memory = temporary_files(options.temp_directory);
  const std::optional<Array<std::uint64_t>> rows =
      rows_of_distinct_ids(table.ids, options.duplicates, memory);
  if (!rows) return build(table);
  const Table distinct = subset_of(table, table.ids, *rows, memory);
  try {
    return build(distinct.view());
  } catch (const RowError& error) {
    throw RowError((*rows)[error.row()], std::string(error.problem()));
  }
}

// Ids of all rows, in `memory`: those of the table, or from first_id on by the rows' numbers. None of IdType::text.
Array<std::int64_t> ids_of_rows(const TableView& table, std::int64_t first_id,
                                const std::shared_ptr<ArrayMemory>& memory = nullptr);

}  // namespace culmen
