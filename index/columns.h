// Reading the columns of a caller's table: checks, statistics, and typed access by row.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "culmen/schema.h"
#include "culmen/table.h"
#include "index/attribute_stats.h"

namespace culmen {

// Statistics of one column, whatever the order of its rows.
struct ColumnStats {
  static constexpr std::uint64_t kNoRow = std::numeric_limits<std::uint64_t>::max();

  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  int quantum = kNoQuantum;
  std::uint64_t first_bad_row = kNoRow;
  std::uint64_t not_float32 = 0;  // values that float32 cannot hold exactly
};

// Those of a whole table, and what follows from them.
struct TableStats {
  ValueType value_type = ValueType::float32;  // never automatic
  std::vector<AttributeStats> attributes;     // of the oriented, stored values
  std::uint64_t rounded_values = 0;
};

// Checks shape, names and every value. Throws RowError naming the first bad row and column, InputError for
// the shape.
TableStats table_stats(const TableView& table, ValueType wanted);

// Its parts, for callers that look at the values by other means. Statistics are of values rounded to float32
// if that is `wanted`; one that is beyond its range is bad.
void check_shape(const TableView& table);
void check_values(const TableView& table, std::size_t column, const ColumnStats& stats);
TableStats make_table_stats(const TableView& table, std::span<const ColumnStats> columns, ValueType wanted);

// Rows whose numbers follow each other.
struct NumberedRows {
  std::uint64_t first_row = 0;
  std::uint64_t first_number = 0;
  std::uint64_t num_rows = 0;
};

// All rows of a table, in order: one run, and one more for each gap that dropped rows left.
std::vector<NumberedRows> numbered_rows(const TableView& table);

// Throws InputError if an id stands in two rows.
void check_ids_unique(std::span<const std::int64_t> ids);

// Writes the stored form (oriented, rounded to T) of the column's values in `rows` to out.
template <typename T>
void gather_column(const ColumnView& column, Preference preference, std::span<const std::uint64_t> rows,
                   T* out);

}  // namespace culmen
