#include "index/table_shape.h"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/text_id.h"
#include "culmen/error.h"
#include "index/text_check.h"

namespace culmen {
namespace {

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

// Pointers are set, and labels lie within their bytes.
void check_memory(const TableView& table) {
  if (table.num_rows == 0) return;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].data == nullptr)
      throw InputError("column \"" + table.attributes[i].name + "\" is a null pointer, but the table has " +
                       std::to_string(table.num_rows) + " rows");
  if (!table.ids.empty() && table.ids.data() == nullptr) throw InputError("the ids are a null pointer");
}

// So that what writes the rows as CSV can be read back.
void check_text_ids(const LabelsView& texts) {
  for (std::size_t row = 0; row + 1 < texts.offsets.size(); ++row)
    if (const std::string fault = fault_of_text_id(texts[row]); !fault.empty()) throw RowError(row, fault);
}

}  // namespace

void check_labels(const TableView& table) {
  const LabelsView& labels = table.labels;
  if (table.id_type == IdType::text && labels.empty() && table.num_rows > 0)
    throw InputError("the ids are texts, but the table has no labels, which hold them");
  if (!labels.empty() && labels.offsets.size() != table.num_rows + 1)
    throw InputError(std::to_string(table.num_rows) + " rows but " +
                     std::to_string(labels.offsets.size() - 1) + " labels");
  if (labels.empty() || table.num_rows == 0) return;
  if (labels.offsets.data() == nullptr || (!labels.bytes.empty() && labels.bytes.data() == nullptr))
    throw InputError("the labels are a null pointer");
  const auto back = std::adjacent_find(labels.offsets.begin(), labels.offsets.end(), std::greater<>());
  if (back != labels.offsets.end())
    throw RowError(static_cast<std::uint64_t>(back - labels.offsets.begin()),
                   "the label ends before it begins");
  if (labels.offsets.back() > labels.bytes.size())
    throw InputError("the labels end at byte " + std::to_string(labels.offsets.back()) + ", but there are " +
                     std::to_string(labels.bytes.size()) + " bytes");
  if (const std::optional<std::uint64_t> row = first_without_utf8({labels}))
    throw RowError(*row, table.id_type == IdType::text ? "the id is not UTF-8" : "the label is not UTF-8");
  if (table.id_type == IdType::text) check_text_ids(labels);
}

void check_shape(const TableView& table) {
  const std::size_t d = table.attributes.size();
  if (d == 0) throw InputError("the table has no attribute to rank by");
  if (d > static_cast<std::size_t>(kMaxAttributes))
    throw InputError("the table has " + std::to_string(d) + " attributes; at most " +
                     std::to_string(kMaxAttributes) + " can be ranked: keep the other columns as fields");
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
  if (table.ids.empty() && table.num_rows > 0 && table.id_type == IdType::uint64)
    throw InputError("a table whose ids are uint64 has none: numbers of rows are int64");
  std::set<std::string> names;
  for (const Attribute& attribute : table.attributes) {
    if (attribute.name.empty()) throw InputError("an attribute has an empty name");
    if (!names.insert(attribute.name).second)
      throw InputError("two attributes are called \"" + attribute.name + "\"");
    if (attribute.format.type == ColumnType::text)
      throw InputError("attribute \"" + attribute.name + "\" has the type of texts, which cannot be ranked");
  }
  check_memory(table);
  check_labels(table);
  check_dropped_rows(table);
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

void check_ids_unique(std::span<const std::int64_t> ids, IdType type,
                      const std::shared_ptr<ArrayMemory>& memory) {
  if (std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end()) return;
  Array<std::int64_t> sorted(ids.begin(), ids.end(), memory);
  tbb::parallel_sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return;
  const auto first = std::find(ids.begin(), ids.end(), *twice);
  const auto second = std::find(first + 1, ids.end(), *twice);
  throw InputError("id " + id_text(*twice, type) + " stands in rows " +
                   std::to_string(first - ids.begin() + 1) + " and " +
                   std::to_string(second - ids.begin() + 1) + "; ids must be unique");
}

}  // namespace culmen
