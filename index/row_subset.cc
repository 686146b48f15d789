#include "index/row_subset.h"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/enum_names.h"
#include "index/column_element.h"
#include "index/table_shape.h"

namespace culmen {
namespace {

constexpr EnumNames<Duplicates, 3> kDuplicates = {
    "duplicates", {{{"error", Duplicates::error}, {"first", Duplicates::first}, {"last", Duplicates::last}}}};

// As in Validity; empty if no row is marked as missing.
std::vector<std::uint8_t> gathered_validity(const Validity& validity, std::span<const std::uint64_t> rows) {
  if (validity.bits == nullptr) return {};
  std::vector<std::uint8_t> bits(rows.size() / 8 + 1, 0xff);
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (validity.is_missing(rows[r])) bits[r / 8] &= static_cast<std::uint8_t>(~(1U << r % 8));
  return bits;
}

ColumnView gathered_column(const ColumnView& column, std::span<const std::uint64_t> rows,
                           Table::Values& values, std::vector<std::uint8_t>& validity) {
  validity = gathered_validity(column.validity, rows);
  return visit_element_type(column, [&]<typename T>(T) {
    auto& gathered = values.emplace<std::vector<T>>(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) gathered[r] = column_element<T>(column, rows[r]);
    ColumnView view(gathered);
    if (!validity.empty()) view.validity = {validity.data()};
    return view;
  });
}

Labels gathered_texts(const LabelsView& texts, std::span<const std::uint64_t> rows) {
  Labels gathered;
  gathered.offsets.push_back(0);
  for (const std::uint64_t row : rows) gathered.append(texts[row]);
  return gathered;
}

}  // namespace

Duplicates parse_duplicates(std::string_view name) {
  return kDuplicates.parse(name);
}

Table subset_of(const TableView& table, std::span<const std::int64_t> ids,
                std::span<const std::uint64_t> rows) {
  Table subset;
  const std::size_t num_attributes = table.columns.size(), num_fields = table.field_views.size();
  subset.num_rows = rows.size();
  subset.attributes = table.attributes;
  subset.fields = table.fields;
  subset.id_name = table.id_name;
  subset.label_name = table.label_name;
  subset.id_type = table.id_type;
  subset.columns.resize(num_attributes);
  subset.field_columns.resize(num_fields);
  subset.storage.resize(num_attributes + num_fields);
  subset.validities.resize(num_attributes + num_fields);
  tbb::parallel_for(std::size_t{0}, num_attributes + num_fields, [&](std::size_t column) {
    Table::Values& values = subset.storage[column];
    std::vector<std::uint8_t>& validity = subset.validities[column];
    if (column < num_attributes) {
      subset.columns[column] = gathered_column(table.columns[column], rows, values, validity);
      return;
    }
    const FieldView& view = table.field_views[column - num_attributes];
    if (const TextView* texts = std::get_if<TextView>(&view)) {
      subset.field_columns[column - num_attributes] =
          Texts{gathered_texts(texts->texts, rows), gathered_validity(texts->validity, rows)};
    } else {
      subset.field_columns[column - num_attributes] =
          gathered_column(std::get<ColumnView>(view), rows, values, validity);
    }
  });
  for (const std::uint64_t row : rows) subset.ids.push_back(ids[row]);
  if (!table.labels.empty()) subset.labels = gathered_texts(table.labels, rows);
  return subset;
}

std::vector<std::int64_t> ids_of_rows(const TableView& table, std::int64_t first_id) {
  if (!table.ids.empty()) return {table.ids.begin(), table.ids.end()};
  std::vector<std::int64_t> ids(table.num_rows);
  for (const NumberedRows& run : numbered_rows(table)) {
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(run.first_row);
    std::iota(first, first + static_cast<std::ptrdiff_t>(run.num_rows),
              first_id + static_cast<std::int64_t>(run.first_number));
  }
  return ids;
}

std::optional<std::vector<std::uint64_t>> rows_of_distinct_ids(std::span<const std::int64_t> ids,
                                                               Duplicates duplicates) {
  const bool rising = std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
  if (duplicates == Duplicates::error || rising) return std::nullopt;
  std::vector<std::uint64_t> rows(ids.size());
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  tbb::parallel_sort(rows.begin(), rows.end(), [&](std::uint64_t a, std::uint64_t b) {
    if (ids[a] != ids[b]) return ids[a] < ids[b];
    return duplicates == Duplicates::first ? a < b : a > b;
  });
  rows.erase(std::unique(rows.begin(), rows.end(),
                         [&](std::uint64_t a, std::uint64_t b) { return ids[a] == ids[b]; }),
             rows.end());
  if (rows.size() == ids.size()) return std::nullopt;
  tbb::parallel_sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace culmen
