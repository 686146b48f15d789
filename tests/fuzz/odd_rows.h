// Twelve rows with values of all types, gaps and extremes: what filters and terms of fuzz targets are asked about.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "culmen/index.h"
#include "tests/field_tables.h"
#include "tests/generators.h"

namespace culmen::fuzz {

inline constexpr std::int64_t kTwoTo53 = std::int64_t{1} << 53;
inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
inline const std::vector<double> kValues = {0, -0.0, 0.5, 1, 2, 2.5, -1e300, 1e300, 0x1p53, 5e-324, 3, 200};
inline const std::vector<std::int64_t> kIds = {0,         1,         2, 3, 200, -1, kTwoTo53, kTwoTo53 + 1,
                                               INT64_MIN, INT64_MAX, 5, 4};
inline const std::vector<std::string> kTexts = {"",  "a", "ab",       "abc", "Sony's", "Sony",
                                                "%", "a", "\xc3\xa9", "b",   "z",      "ab"};

inline Schema schema() {
  return {.attributes = {{"a"}, {"b", Preference::low}, {"not"}, {"5"}, {"x \"y\""}, {"gaps"}},
          .fields = {{"brand", FieldRole::filter, {ColumnType::text}},
                     {"n", FieldRole::filter, {ColumnType::integer}},
                     {"f", FieldRole::filter, {ColumnType::floating}},
                     {"yes", FieldRole::filter, {ColumnType::boolean}},
                     {"day", FieldRole::filter, {ColumnType::date}},
                     {"at", FieldRole::filter, {ColumnType::timestamp, TimeUnit::millisecond, "UTC"}},
                     {"like", FieldRole::filter, {ColumnType::timestamp, TimeUnit::second}},
                     {"shown", FieldRole::stored, {ColumnType::text}}}};
}

inline std::vector<Row> rows() {
  std::vector<Row> rows;
  const std::size_t n = kValues.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double value = kValues[i], reversed = kValues[n - 1 - i];
    const auto number = static_cast<std::int64_t>(i);
    const auto unless = [i](std::size_t missing, FieldValue given) {
      return i % 5 == missing ? FieldValue() : std::move(given);
    };
    rows.push_back({kIds[i],
                    {value, reversed, value, reversed, value, i % 3 == 0 ? kMissing : value},
                    "",
                    {unless(0, kTexts[i]), unless(1, kIds[i]), unless(2, value), unless(3, number % 2),
                     unless(4, 20'240 + number / 3), unless(1, 1'748'736'000'000 + 1500 * number),
                     unless(2, (number - 6) * 100'000'000), kTexts[i]}});
  }
  return rows;
}

inline Index index_of_rows() {
  test::Random random(1);
  const std::vector<Row> all = rows();
  return Index::build(test::RowTable(random, schema(), all).view());
}

}  // namespace culmen::fuzz
