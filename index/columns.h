// Reads the columns of a caller's table: statistics, which find bad values, and typed access by row.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "culmen/schema.h"
#include "culmen/table.h"
#include "index/attribute_stats.h"
#include "index/row_chunk.h"

namespace culmen {

// Statistics of one column, in any order of its rows.
struct ColumnStats {
  static constexpr std::uint64_t kNoRow = std::numeric_limits<std::uint64_t>::max();

  // Of the values that are not missing.
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  int quantum = kNoQuantum;
  std::uint64_t first_bad_row = kNoRow;
  std::uint64_t first_missing_row = kNoRow;
  std::uint64_t not_float32 = 0;  // values that float32 cannot hold exactly
};

// Adds those of other rows.
void join(ColumnStats& stats, const ColumnStats& other);

// Statistics of a whole table, and the type in which its values are stored. Missing values count in none of them.
struct TableStats {
  ValueType value_type = ValueType::float32;  // never automatic
  std::vector<AttributeStats> attributes;     // of the oriented, stored values
  std::uint64_t rounded_values = 0;
  std::vector<bool> has_gaps;  // [num_attributes]
};

// Checks the shape (index/table_shape.h) and every value. Throws RowError, which names the first bad row and column, or
// InputError. A value is bad if it is infinite, beyond the calendar (index/calendar_values.h), or missing where
// Attribute::stand_in is StandIn::refuse.
TableStats table_stats(const TableView& table, ValueType wanted);

// Whether a validity bitmap marks a value of an attribute as missing. (NaN, which is missing as well, is not looked for.)
bool marks_missing(const TableView& table);

// The steps of table_stats, for callers that collect the statistics of columns themselves. If `wanted` is float32, statistics are of
// the rounded values, and a value beyond the range of float32 is bad.
void check_values(const TableView& table, std::size_t column, const ColumnStats& stats);
TableStats make_table_stats(const TableView& table, std::span<const ColumnStats> columns, ValueType wanted);

// Writes the values of `rows` to out in their stored form: oriented, rounded to T; missing values as NaN.
template <typename T>
void gather_column(const ColumnView& column, Preference preference, std::span<const std::uint64_t> rows,
                   T* out);

// The stored form of all attributes of `rows`, as float64, in `memory`.
RowChunk read_rows(const TableView& table, ValueType value_type, std::span<const std::uint64_t> rows,
                   const std::shared_ptr<ArrayMemory>& memory = nullptr);

}  // namespace culmen
