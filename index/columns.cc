#include "index/columns.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "base/floating_point_scope.h"
#include "base/number_text.h"
#include "culmen/error.h"
#include "index/snapshot.h"

namespace culmen {
namespace {

constexpr double kMaxExactInteger = 0x1p53;

template <typename T>
const T& element(const ColumnView& column, std::uint64_t row) {
  return *reinterpret_cast<const T*>(column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes);
}

template <typename F>
decltype(auto) visit_element_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::float32:
      return f(float{});
    case ElementType::float64:
      return f(double{});
    case ElementType::int32:
      return f(std::int32_t{});
    case ElementType::int64:
      break;
  }
  return f(std::int64_t{});
}

template <typename T>
bool is_acceptable(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isfinite(value);
  if constexpr (std::is_same_v<T, std::int64_t>)
    return value >= -static_cast<std::int64_t>(kMaxExactInteger) &&
           value <= static_cast<std::int64_t>(kMaxExactInteger);
  return true;
}

void join(ColumnStats& stats, const ColumnStats& other) {
  stats.minimum = std::min(stats.minimum, other.minimum);
  stats.maximum = std::max(stats.maximum, other.maximum);
  stats.quantum = std::min(stats.quantum, other.quantum);
  stats.first_bad_row = std::min(stats.first_bad_row, other.first_bad_row);
  stats.not_float32 += other.not_float32;
}

// `round`: of the values rounded to float32; one that is beyond its range is bad.
template <typename T>
ColumnStats stats_of_rows(const ColumnView& column, bool round,
                          const tbb::blocked_range<std::uint64_t>& rows) {
  const FloatingPointScope floating_point;
  ColumnStats stats;
  for (std::uint64_t row = rows.begin(); row < rows.end(); ++row) {
    const T given = element<T>(column, row);
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
        join(stats, visit_element_type(column.type,
                                       [&]<typename T>(T) { return stats_of_rows<T>(column, round, rows); }));
        return stats;
      },
      [](ColumnStats a, const ColumnStats& b) {
        join(a, b);
        return a;
      });
}

std::string describe_bad_value(const ColumnView& column, std::uint64_t row) {
  return visit_element_type(column.type, [&]<typename T>(T) -> std::string {
    const T value = element<T>(column, row);
    if constexpr (std::is_integral_v<T>)
      return std::to_string(value) + " is beyond 2^53 and would lose digits as float64";
    if (std::isnan(value)) return "NaN is not a number to rank by";
    if (std::isinf(value)) return "infinity is not a number to rank by";
    return number_text(static_cast<double>(value)) + " is beyond the range of float32";
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

void check_dropped_rows(const TableView& table) {
  const std::span<const std::uint64_t> dropped = table.dropped_rows;
  if (dropped.empty()) return;
  if (dropped.data() == nullptr) throw InputError("the dropped rows are a null pointer");
  const bool ascend =
      std::adjacent_find(dropped.begin(), dropped.end(), std::greater_equal<>()) == dropped.end();
  if (!ascend) throw InputError("the numbers of the dropped rows do not ascend");
  if (dropped.back() >= table.num_numbers())
    throw InputError("row number " + std::to_string(dropped.back()) + " was dropped, but with the " +
                     std::to_string(dropped.size()) + " dropped ones there are " +
                     std::to_string(table.num_numbers()) + " rows");
}

// What the table's pointers promise to be there. A row's label is where its offsets say.
void check_memory(const TableView& table) {
  if (table.num_rows == 0) return;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].data == nullptr)
      throw InputError("column \"" + table.attributes[i].name + "\" is a null pointer, but the table has " +
                       std::to_string(table.num_rows) + " rows");
  if (!table.ids.empty() && table.ids.data() == nullptr) throw InputError("the ids are a null pointer");
  const LabelsView& labels = table.labels;
  if (labels.empty()) return;
  if (labels.offsets.data() == nullptr || (!labels.bytes.empty() && labels.bytes.data() == nullptr))
    throw InputError("the labels are a null pointer");
  const auto back = std::adjacent_find(labels.offsets.begin(), labels.offsets.end(), std::greater<>());
  if (back != labels.offsets.end())
    throw RowError(static_cast<std::uint64_t>(back - labels.offsets.begin()),
                   "the label ends before it begins");
  if (labels.offsets.back() > labels.bytes.size())
    throw InputError("the labels end at byte " + std::to_string(labels.offsets.back()) + ", but there are " +
                     std::to_string(labels.bytes.size()) + " bytes");
}

}  // namespace

void check_shape(const TableView& table) {
  const std::size_t d = table.attributes.size();
  if (d == 0) throw InputError("the table has no attribute to rank by");
  if (d > static_cast<std::size_t>(kMaxAttributes))
    throw InputError("the table has " + std::to_string(d) + " attributes; at most " +
                     std::to_string(kMaxAttributes) + " can be indexed");
  if (table.columns.size() != d)
    throw InputError(std::to_string(d) + " attributes but " + std::to_string(table.columns.size()) +
                     " columns");
  for (std::size_t i = 0; i < d; ++i)
    if (table.columns[i].size != table.num_rows)
      throw InputError(std::to_string(table.num_rows) + " rows but " + std::to_string(table.columns[i].size) +
                       " values in column \"" + table.attributes[i].name + "\"");
  if (!table.ids.empty() && table.ids.size() != table.num_rows)
    throw InputError(std::to_string(table.num_rows) + " rows but " + std::to_string(table.ids.size()) +
                     " ids");
  if (!table.labels.empty() && table.labels.offsets.size() != table.num_rows + 1)
    throw InputError(std::to_string(table.num_rows) + " rows but " +
                     std::to_string(table.labels.offsets.size() - 1) + " labels");
  std::set<std::string> names;
  for (const Attribute& attribute : table.attributes) {
    if (attribute.name.empty()) throw InputError("an attribute has an empty name");
    if (!names.insert(attribute.name).second)
      throw InputError("two attributes are called \"" + attribute.name + "\"");
  }
  check_memory(table);
  check_dropped_rows(table);
}

void check_values(const TableView& table, std::size_t column, const ColumnStats& stats) {
  const std::uint64_t row = stats.first_bad_row;
  if (row != ColumnStats::kNoRow)
    throw RowError(row, "column \"" + table.attributes[column].name +
                            "\": " + describe_bad_value(table.columns[column], row));
}

TableStats table_stats(const TableView& table, ValueType wanted) {
  check_shape(table);
  std::vector<ColumnStats> stats;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    stats.push_back(stats_of_column(table.columns[i], table.num_rows, wanted == ValueType::float32));
    check_values(table, i, stats.back());
  }
  return make_table_stats(table, stats, wanted);
}

TableStats make_table_stats(const TableView& table, std::span<const ColumnStats> columns, ValueType wanted) {
  TableStats result;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    result.attributes.push_back(oriented_stats(columns[i], table.attributes[i].preference));
    result.rounded_values += columns[i].not_float32;
  }
  if (wanted == ValueType::automatic)
    wanted = result.rounded_values == 0 ? ValueType::float32 : ValueType::float64;
  if (wanted == ValueType::float64) result.rounded_values = 0;
  result.value_type = wanted;
  return result;
}

std::vector<NumberedRows> numbered_rows(const TableView& table) {
  std::vector<NumberedRows> runs;
  NumberedRows next;
  const auto end_before = [&](std::uint64_t number) {
    next.num_rows = number - next.first_number;
    if (next.num_rows > 0) runs.push_back(next);
    next.first_row += next.num_rows;
    next.first_number = number + 1;
  };
  for (const std::uint64_t dropped : table.dropped_rows) end_before(dropped);
  end_before(table.num_numbers());
  return runs;
}

void check_ids_unique(std::span<const std::int64_t> ids) {
  std::vector<std::int64_t> sorted(ids.begin(), ids.end());
  tbb::parallel_sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return;
  const auto first = std::find(ids.begin(), ids.end(), *twice);
  const auto second = std::find(first + 1, ids.end(), *twice);
  throw InputError("id " + std::to_string(*twice) + " stands in rows " +
                   std::to_string(first - ids.begin() + 1) + " and " +
                   std::to_string(second - ids.begin() + 1) + "; ids must be unique");
}

template <typename T>
void gather_column(const ColumnView& column, Preference preference, std::span<const std::uint64_t> rows,
                   T* out) {
  visit_element_type(column.type, [&]<typename S>(S) {
    const T sign = preference == Preference::low ? T{-1} : T{1};
    for (std::size_t r = 0; r < rows.size(); ++r)
      out[r] = static_cast<T>(element<S>(column, rows[r])) * sign + T{0};  // + 0: never -0
  });
}

template void gather_column(const ColumnView&, Preference, std::span<const std::uint64_t>, float*);
template void gather_column(const ColumnView&, Preference, std::span<const std::uint64_t>, double*);

}  // namespace culmen
