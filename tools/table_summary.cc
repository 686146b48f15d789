#include "tools/table_summary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <variant>

#include "culmen/search.h"
#include "tools/column_value.h"
#include "tools/value_text.h"

namespace culmen::tools {
namespace {

// Sorts the values that are there.
template <typename T>
void summarise(std::vector<T> values, std::size_t num_rows, const auto& text_of, ColumnSummary& summary) {
  summary.num_missing = num_rows - values.size();
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  summary.first = text_of(values.front());
  summary.last = text_of(values.back());
  summary.num_distinct = static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

void summarise_floats(const ColumnView& column, std::size_t num_rows, ColumnSummary& summary) {
  std::vector<double> values;
  for (std::size_t row = 0; row < num_rows; ++row)
    if (const double value = column_value(column, row); !std::isnan(value)) values.push_back(value);
  const auto text_of = [&](double value) {
    return exact_text(attribute_value(value, summary.format), summary.format);
  };
  summarise(std::move(values), num_rows, text_of, summary);
}

void summarise_integers(const ColumnView& column, std::size_t num_rows, ColumnSummary& summary) {
  std::vector<std::int64_t> values;
  for (std::size_t row = 0; row < num_rows; ++row) {
    if (column.validity.is_missing(row)) continue;
    std::memcpy(&values.emplace_back(), column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes,
                sizeof(std::int64_t));
  }
  const auto text_of = [&](std::int64_t value) { return exact_text(FieldValue(value), summary.format); };
  summarise(std::move(values), num_rows, text_of, summary);
}

void summarise_column(const ColumnView& column, std::size_t num_rows, ColumnSummary& summary) {
  if (column.type == ElementType::int64) return summarise_integers(column, num_rows, summary);
  summarise_floats(column, num_rows, summary);
}

void summarise_texts(const TextView& column, std::size_t num_rows, ColumnSummary& summary) {
  std::unordered_set<std::string_view> distinct;
  for (std::size_t row = 0; row < num_rows; ++row) {
    if (column.validity.is_missing(row)) {
      ++summary.num_missing;
    } else {
      distinct.insert(column.texts[row]);
    }
  }
  summary.num_distinct = distinct.size();
  if (distinct.empty()) return;
  const auto [least, greatest] = std::minmax_element(distinct.begin(), distinct.end());
  summary.first = *least;
  summary.last = *greatest;
}

}  // namespace

std::vector<ColumnSummary> summaries_of(const TableView& table) {
  std::vector<ColumnSummary> summaries;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    ColumnSummary& summary = summaries.emplace_back();
    summary.name = table.attributes[i].name;
    summary.format = table.attributes[i].format;
    summary.is_attribute = true;
    summarise_column(table.columns[i], table.num_rows, summary);
  }
  for (std::size_t i = 0; i < table.fields.size(); ++i) {
    ColumnSummary& summary = summaries.emplace_back();
    summary.name = table.fields[i].name;
    summary.format = table.fields[i].format;
    summary.role = table.fields[i].role;
    if (const auto* const texts = std::get_if<TextView>(&table.field_views[i])) {
      summarise_texts(*texts, table.num_rows, summary);
    } else {
      summarise_column(std::get<ColumnView>(table.field_views[i]), table.num_rows, summary);
    }
  }
  return summaries;
}

}  // namespace culmen::tools
