// The shape of a caller's table: checks, and the numbers of its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "culmen/schema.h"
#include "culmen/table.h"

namespace culmen {

// Checks sizes, names, pointers and dropped rows, but no values. Throws InputError, or RowError for a label.
void check_shape(const TableView& table);

// Of a table of any columns: whether there is a label for each row, in memory and UTF-8. Throws as check_shape.
void check_labels(const TableView& table);

// Throws InputError if two rows have the same id. Unless ids ascend, it sorts a copy in `memory`.
void check_ids_unique(std::span<const std::int64_t> ids, IdType type,
                      const std::shared_ptr<ArrayMemory>& memory = nullptr);

// A run of rows with consecutive numbers.
struct NumberedRows {
  std::uint64_t first_row = 0;
  std::uint64_t first_number = 0;
  std::uint64_t num_rows = 0;
};

// All rows of a table, in order. Dropped rows leave gaps in the numbers, and each gap begins a new run.
std::vector<NumberedRows> numbered_rows(const TableView& table);

}  // namespace culmen
