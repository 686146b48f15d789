// Reading the columns of a caller's table: checks, statistics, and typed access by row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "culmen/index.h"
#include "culmen/table.h"
#include "index/attribute_stats.h"

namespace culmen {

// What one pass over the table finds out.
struct ColumnSurvey {
  ValueType value_type = ValueType::float32;  // never automatic
  std::vector<AttributeStats> stats;          // of the oriented, stored values
  std::uint64_t rounded_values = 0;
};

// Checks shape, names and every value. Throws InputError naming the first bad row (counted from 0) and
// column.
ColumnSurvey survey_columns(const TableView& table, ValueType wanted);

// Throws InputError if an id stands in two rows.
void check_ids_unique(std::span<const std::int64_t> ids);

// Writes the stored form (oriented, rounded to T) of the column's values in `rows` to out.
template <typename T>
void gather_column(const ColumnView& column, Preference preference, std::span<const std::uint64_t> rows,
                   T* out);

}  // namespace culmen
