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
Array<std::uint8_t> gathered_validity(const Validity& validity, std::span<const std::uint64_t> rows,
                                      const std::shared_ptr<ArrayMemory>& memory) {
  if (validity.bits == nullptr) return {};
  Array<std::uint8_t> bits(rows.size() / 8 + 1, 0xff, memory);
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (validity.is_missing(rows[r])) bits[r / 8] &= static_cast<std::uint8_t>(~(1U << r % 8));
  return bits;
}

ColumnView gathered_column(const ColumnView& column, std::span<const std::uint64_t> rows,
                           Table::Values& values, Array<std::uint8_t>& validity,
                           const std::shared_ptr<ArrayMemory>& memory) {
  validity = gathered_validity(column.validity, rows, memory);
  return visit_element_type(column, [&]<typename T>(T) {
    auto& gathered = values.emplace<Array<T>>(rows.size(), memory);
    for (std::size_t r = 0; r < rows.size(); ++r) gathered[r] = column_element<T>(column, rows[r]);
    ColumnView view(gathered);
    if (!validity.empty()) view.validity = {validity.data()};
    return view;
  });
}

Labels gathered_texts(const LabelsView& texts, std::span<const std::uint64_t> rows,
                      const std::shared_ptr<ArrayMemory>& memory) {
  Labels gathered = {Array<char>(memory), Array<std::uint64_t>(memory)};
  gathered.offsets.push_back(0);
  for (const std::uint64_t row : rows) gathered.append(texts[row]);
  return gathered;
}

}  // namespace

Duplicates parse_duplicates(std::string_view name) {
  return kDuplicates.parse(name);
}

Table subset_of(const TableView& table, std::span<const std::int64_t> ids,
                std::span<const std::uint64_t> rows, const std::shared_ptr<ArrayMemory>& memory) {
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
    Array<std::uint8_t>& validity = subset.validities[column];
    if (column < num_attributes) {
      subset.columns[column] = gathered_column(table.columns[column], rows, values, validity, memory);
      return;
    }
    const FieldView& view = table.field_views[column - num_attributes];
    if (const TextView* texts = std::get_if<TextView>(&view)) {
      subset.field_columns[column - num_attributes] =
          Texts{gathered_texts(texts->texts, rows, memory), gathered_validity(texts->validity, rows, memory)};
    } else {
      subset.field_columns[column - num_attributes] =
          gathered_column(std::get<ColumnView>(view), rows, values, validity, memory);
    }
  });
  subset.ids = Array<std::int64_t>(memory);
  subset.ids.reserve(ids.empty() ? 0 : rows.size());
  for (std::size_t r = 0; r < rows.size() && !ids.empty(); ++r) subset.ids.push_back(ids[rows[r]]);
  if (!table.labels.empty()) subset.labels = gathered_texts(table.labels, rows, memory);
  return subset;
}

Array<std::int64_t> ids_of_rows(const TableView& table, std::int64_t first_id,
                                const std::shared_ptr<ArrayMemory>& memory) {
  if (table.id_type == IdType::text) return Array<std::int64_t>(memory);
  if (!table.ids.empty()) return {table.ids.begin(), table.ids.end(), memory};
  Array<std::int64_t> ids(table.num_rows, memory);
  for (const NumberedRows& run : numbered_rows(table)) {
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(run.first_row);
    std::iota(first, first + static_cast<std::ptrdiff_t>(run.num_rows),
              first_id + static_cast<std::int64_t>(run.first_number));
  }
  return ids;
}

std::optional<Array<std::uint64_t>> rows_of_distinct_ids(std::span<const std::int64_t> ids,
                                                         Duplicates duplicates,
                                                         const std::shared_ptr<ArrayMemory>& memory) {
  const bool rising = std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
  if (duplicates == Duplicates::error || rising) return std::nullopt;
  using IdOfRow = std::pair<std::int64_t, std::uint64_t>;
  Array<IdOfRow> sorted(ids.size(), memory);
  for (std::uint64_t row = 0; row < ids.size(); ++row) sorted[row] = {ids[row], row};
  tbb::parallel_sort(sorted.begin(), sorted.end(), [duplicates](const IdOfRow& a, const IdOfRow& b) {
    if (a.first != b.first) return a.first < b.first;
    return duplicates == Duplicates::first ? a.second < b.second : a.second > b.second;
  });
  const auto has_same_id = [](const IdOfRow& a, const IdOfRow& b) { return a.first == b.first; };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), has_same_id), sorted.end());
  if (sorted.size() == ids.size()) return std::nullopt;
  Array<std::uint64_t> rows(sorted.size(), memory);
  std::ranges::transform(sorted, rows.begin(), &IdOfRow::second);
  tbb::parallel_sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace culmen
