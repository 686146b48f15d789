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

// What is to be known of one column's values, in any order of its rows.
struct ColumnFacts {
  static constexpr std::uint64_t kNoRow = std::numeric_limits<std::uint64_t>::max();

  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  int quantum = kNoQuantum;
  std::uint64_t first_bad_row = kNoRow;
  std::uint64_t not_float32 = 0;  // values that float32 cannot hold exactly
};

// What one pass over the table finds out.
struct ColumnSurvey {
  ValueType value_type = ValueType::float32;  // never automatic
  std::vector<AttributeStats> stats;          // of the oriented, stored values
  std::uint64_t rounded_values = 0;
};

// Checks shape, names and every value. Throws RowError naming the first bad row and column, InputError for
// the shape.
ColumnSurvey survey_columns(const TableView& table, ValueType wanted);

// Its parts, for callers that look at the values by other means. The facts are of values rounded to float32
// if that is `wanted`; one that is beyond its range is bad.
void check_shape(const TableView& table);
void check_values(const TableView& table, std::size_t column, const ColumnFacts& facts);
ColumnSurvey make_survey(const TableView& table, std::span<const ColumnFacts> facts, ValueType wanted);

// Throws InputError if an id stands in two rows.
void check_ids_unique(std::span<const std::int64_t> ids);

// Writes the stored form (oriented, rounded to T) of the column's values in `rows` to out.
template <typename T>
void gather_column(const ColumnView& column, Preference preference, std::span<const std::uint64_t> rows,
                   T* out);

}  // namespace culmen
