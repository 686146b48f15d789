#include "index/columns.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "base/exact_integer.h"
#include "base/floating_point_scope.h"
#include "base/number_text.h"
#include "culmen/error.h"
#include "index/calendar_values.h"
#include "index/column_element.h"
#include "index/field_rows.h"
#include "index/snapshot.h"
#include "index/table_shape.h"

namespace culmen {
namespace {

template <typename T>
bool is_acceptable(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isfinite(value);
  if constexpr (std::is_same_v<T, std::int64_t>) return is_exact_in_float64(value);
  return true;
}

// Of numbers that lie next to each other; nothing if one of them is missing or infinite. In lanes, which compilers make vectors
// of: this is the first pass over a table that is built.
std::optional<ColumnStats> stats_of_numbers(std::span<const float> values) {
  constexpr std::size_t kLanes = 16;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::int32_t kInfinityBits = 0x7f800000, kFraction = 0x007fffff;
  std::array<float, kLanes> low = {}, high = {}, lowest_bit = {};
  low.fill(kInfinity);
  high.fill(-kInfinity);
  lowest_bit.fill(kInfinity);
  std::array<std::int32_t, kLanes> largest_bits = {};
  const auto add = [&](std::size_t lane, float value) {
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
    const std::int32_t bits = std::bit_cast<std::int32_t>(value) & 0x7fffffff;
    largest_bits[lane] = std::max(largest_bits[lane], bits);
    // The value of the significand's lowest bit: what the number loses without it.
    const std::int32_t without = (bits & kFraction) == 0 ? 0 : bits & (bits - 1);
    const float bit = std::bit_cast<float>(bits) - std::bit_cast<float>(without);
    const float of_number = bit == 0 ? kInfinity : bit;
    lowest_bit[lane] = of_number < lowest_bit[lane] ? of_number : lowest_bit[lane];
  };
  std::size_t row = 0;
  for (; row + kLanes <= values.size(); row += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, values[row + lane]);
  for (; row < values.size(); ++row) add(0, values[row]);
  if (std::ranges::max(largest_bits) >= kInfinityBits) return {};
  ColumnStats stats;
  stats.minimum = std::ranges::min(low);
  stats.maximum = std::ranges::max(high);
  const float quantum = std::ranges::min(lowest_bit);
  if (quantum < kInfinity) stats.quantum = quantum_exponent(quantum);
  return stats;
}

// `round`: of the values rounded to float32; a value beyond the range of float32 is bad.
template <typename T>
ColumnStats stats_of_rows(const ColumnView& column, bool round,
                          const tbb::blocked_range<std::uint64_t>& rows) {
  const FloatingPointScope floating_point;
  if constexpr (std::is_same_v<T, float>)
    if (column.stride_bytes == sizeof(float) && column.validity.bits == nullptr)
      if (const auto stats = stats_of_numbers({&column_element<float>(column, rows.begin()), rows.size()}))
        return *stats;
  ColumnStats stats;
  for (std::uint64_t row = rows.begin(); row < rows.end(); ++row) {
    const T given = column_element<T>(column, row);
    if (is_missing_element(column, row, given)) {
      stats.first_missing_row = std::min(stats.first_missing_row, row);
      continue;
    }
    double value = static_cast<double>(given);
    const double rounded = static_cast<double>(static_cast<float>(value));
    if (!is_acceptable(given) || (round && !std::isfinite(rounded))) {
      stats.first_bad_row = std::min(stats.first_bad_row, row);
      continue;
    }
    if (rounded != value) ++stats.not_float32;
    if (round) value = rounded;
    stats.minimum = std::min(stats.minimum, value);
    stats.maximum = std::max(stats.maximum, value);
    stats.quantum = std::min(stats.quantum, quantum_exponent(value));
  }
  return stats;
}

ColumnStats stats_of_column(const ColumnView& column, std::uint64_t num_rows, bool round) {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::uint64_t>(0, num_rows, 1 << 16), ColumnStats{},
      [&](const tbb::blocked_range<std::uint64_t>& rows, ColumnStats stats) {
        join(stats, visit_element_type(column,
                                       [&]<typename T>(T) { return stats_of_rows<T>(column, round, rows); }));
        return stats;
      },
      [](ColumnStats a, const ColumnStats& b) {
        join(a, b);
        return a;
      });
}

std::string describe_bad_value(const ColumnView& column, const ColumnFormat& format, std::uint64_t row) {
  return visit_element_type(column, [&]<typename T>(T) -> std::string {
    const T value = column_element<T>(column, row);
    if constexpr (std::is_integral_v<T>) {
      const bool is_time = format.type == ColumnType::timestamp;
      return std::to_string(value) + (is_time ? " units of time" : "") +
             " is beyond 2^53 and would lose digits as float64; do not rank the column: a filter column "
             "holds all " +
             (is_time ? "timestamps" : "digits");
    }
    if (std::isinf(value)) return "infinity is not a number to rank by";
    return number_text(static_cast<double>(value)) + " is beyond the range of float32";
  });
}

// From the statistics alone: a table is read again only where some value is none.
bool are_in_calendar(ColumnType type, const ColumnStats& stats) {
  const bool has_values = stats.minimum <= stats.maximum;
  return !holds_times(type) || !has_values ||
         (stats.quantum >= 0 && is_in_calendar(type, stats.minimum) && is_in_calendar(type, stats.maximum));
}

void throw_first_beyond_calendar(const TableView& table, std::size_t i) {
  const ColumnType type = table.attributes[i].format.type;
  visit_element_type(table.columns[i], [&]<typename T>(T) {
    const auto look = [&](const auto& stored) {
      for (std::uint64_t row = 0; row < table.num_rows; ++row) {
        const T value = column_element<T>(table.columns[i], row);
        if (!is_missing_element(table.columns[i], row, value) && !is_in_calendar(type, stored(value)))
          throw RowError(
              row, "column \"" + table.attributes[i].name + "\": " + fault_in_calendar(type, stored(value)));
      }
    };
    look([](T value) { return value; });
    look([](T value) {
      return static_cast<float>(value);
    });  // all are dates, but one that was rounded is none
  });
}

AttributeStats oriented_stats(const ColumnStats& column, Preference preference) {
  AttributeStats stats;
  if (column.minimum > column.maximum) return stats;  // no rows
  stats.minimum = oriented(preference == Preference::low ? column.maximum : column.minimum, preference);
  stats.maximum = oriented(preference == Preference::low ? column.minimum : column.maximum, preference);
  stats.quantum = column.quantum;
  return stats;
}

}  // namespace

void join(ColumnStats& stats, const ColumnStats& other) {
  stats.minimum = std::min(stats.minimum, other.minimum);
  stats.maximum = std::max(stats.maximum, other.maximum);
  stats.quantum = std::min(stats.quantum, other.quantum);
  stats.first_bad_row = std::min(stats.first_bad_row, other.first_bad_row);
  stats.first_missing_row = std::min(stats.first_missing_row, other.first_missing_row);
  stats.not_float32 += other.not_float32;
}

void check_values(const TableView& table, std::size_t column, const ColumnStats& stats) {
  const std::uint64_t row = stats.first_bad_row;
  const bool refuses = table.attributes[column].stand_in == StandIn::refuse;
  if (refuses && stats.first_missing_row < row)
    throw RowError(stats.first_missing_row,
                   "column \"" + table.attributes[column].name +
                       "\": the value is missing; drop the row, or choose what stands in");
  if (row != ColumnStats::kNoRow)
    throw RowError(row, "column \"" + table.attributes[column].name + "\": " +
                            describe_bad_value(table.columns[column], table.attributes[column].format, row));
  if (!are_in_calendar(table.attributes[column].format.type, stats))
    throw_first_beyond_calendar(table, column);
}

TableStats table_stats(const TableView& table, ValueType wanted) {
  check_shape(table);
  check_fields(table);
  std::vector<ColumnStats> stats;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    stats.push_back(stats_of_column(table.columns[i], table.num_rows, wanted == ValueType::float32));
    check_values(table, i, stats.back());
  }
  return make_table_stats(table, stats, wanted);
}

bool marks_missing(const TableView& table) {
  return std::ranges::any_of(table.columns, [&](const ColumnView& column) {
    if (column.validity.bits == nullptr) return false;
    return tbb::parallel_reduce(
        tbb::blocked_range<std::uint64_t>(0, table.num_rows, 1 << 16), false,
        [&](const tbb::blocked_range<std::uint64_t>& rows, bool found) {
          for (std::uint64_t row = rows.begin(); row < rows.end() && !found; ++row)
            found = column.validity.is_missing(row);
          return found;
        },
        std::logical_or<>());
  });
}

TableStats make_table_stats(const TableView& table, std::span<const ColumnStats> columns, ValueType wanted) {
  TableStats result;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    result.attributes.push_back(oriented_stats(columns[i], table.attributes[i].preference));
    result.rounded_values += columns[i].not_float32;
    result.has_gaps.push_back(columns[i].first_missing_row != ColumnStats::kNoRow);
  }
  if (wanted == ValueType::automatic)  // without rows: whatever comes fits into float64
    wanted = table.num_rows > 0 && result.rounded_values == 0 ? ValueType::float32 : ValueType::float64;
  if (wanted == ValueType::float64) result.rounded_values = 0;
  result.value_type = wanted;
  return result;
}

template <typename T>
void gather_column(const ColumnView& column, Preference preference, std::span<const std::uint64_t> rows,
                   T* out) {
  visit_element_type(column, [&]<typename S>(S) {
    const T sign = preference == Preference::low ? T{-1} : T{1};
    for (std::size_t r = 0; r < rows.size(); ++r)
      out[r] = static_cast<T>(column_element<S>(column, rows[r])) * sign + T{0};  // + 0: never -0
    // NaN has many bit patterns, and logs compare bytes.
    if constexpr (std::is_floating_point_v<S>)
      for (std::size_t r = 0; r < rows.size(); ++r)
        out[r] = std::isnan(out[r]) ? std::numeric_limits<T>::quiet_NaN() : out[r];
    if (column.validity.bits == nullptr) return;
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (column.validity.is_missing(rows[r])) out[r] = std::numeric_limits<T>::quiet_NaN();
  });
}

RowChunk read_rows(const TableView& table, ValueType value_type, std::span<const std::uint64_t> rows,
                   const std::shared_ptr<ArrayMemory>& memory) {
  RowChunk chunk(rows.size(), table.columns.size(), memory);
  std::vector<float> rounded(rows.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Preference preference = table.attributes[i].preference;
    const std::span<double> column = chunk.attribute(i);
    if (value_type == ValueType::float64) {
      gather_column(table.columns[i], preference, rows, column.data());
    } else {
      gather_column(table.columns[i], preference, rows, rounded.data());
      std::ranges::copy(rounded, column.begin());
    }
  }
  return chunk;
}

template void gather_column(const ColumnView&, Preference, std::span<const std::uint64_t>, float*);
template void gather_column(const ColumnView&, Preference, std::span<const std::uint64_t>, double*);

}  // namespace culmen
