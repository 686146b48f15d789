// The invariants of every table that a reader returns, whatever its input.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <variant>

#include "base/utf8.h"
#include "culmen/table.h"
#include "table/text.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {

template <typename T>
void check_value(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof(value));
  const auto as_float = static_cast<double>(value);
  if (std::isnan(as_float)) return;
  require(std::isfinite(as_float), "no value is infinite");
  require(as_float != 0 || !std::signbit(as_float), "no value is -0");
  require(static_cast<T>(as_float) == value, "float64 holds every value");
}

inline void check_column(const ColumnView& column, std::size_t num_rows) {
  for (std::size_t row = 0; row < num_rows; ++row) {
    const std::byte* const place = column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes;
    switch (column.type) {
      case ElementType::float32:
        check_value<float>(place);
        break;
      case ElementType::float64:
        check_value<double>(place);
        break;
      case ElementType::int32:
        check_value<std::int32_t>(place);
        break;
      case ElementType::int64:
        check_value<std::int64_t>(place);
        break;
    }
  }
}

inline void check_texts(const Labels& texts, std::size_t num_rows) {
  require(texts.offsets.size() == num_rows + 1, "a text a row");
  require(texts.offsets.back() == texts.bytes.size(), "texts end where their bytes end");
  for (std::size_t row = 0; row < num_rows; ++row)
    require(find_invalid_utf8(texts.view()[row]) == std::string_view::npos, "texts are UTF-8");
}

inline void check_fields(const Table& table) {
  require(table.fields.size() == table.field_columns.size(), "a column a field");
  for (std::size_t i = 0; i < table.fields.size(); ++i) {
    const Texts* const texts = std::get_if<Texts>(&table.field_columns[i]);
    require((texts != nullptr) == table.fields[i].is_text(), "texts are in fields of text alone");
    if (texts != nullptr) {
      check_texts(texts->texts, table.num_rows);
      continue;
    }
    const ColumnView& column = std::get<ColumnView>(table.field_columns[i]);
    require(column.size == table.num_rows, "a value a row");
    if (column.type == ElementType::float32 || column.type == ElementType::float64)
      check_column(column, table.num_rows);
  }
}

inline void check_table(const Table& table) {
  require(!table.attributes.empty() && table.attributes.size() == table.columns.size(),
          "a column an attribute");
  for (const Attribute& attribute : table.attributes)
    require(attribute.format.type != ColumnType::text, "no attribute is of texts");
  for (const ColumnView& column : table.columns) check_column(column, table.num_rows);
  check_fields(table);
  require(table.ids.empty() || table.ids.size() == table.num_rows, "an id a row, or none");
  require(std::set<std::int64_t>(table.ids.begin(), table.ids.end()).size() == table.ids.size(),
          "ids are unique");
  require(table.dropped_rows.empty() || table.dropped_rows.size() == table.num_dropped_rows,
          "a number a dropped row, or none");
  require(std::adjacent_find(table.dropped_rows.begin(), table.dropped_rows.end(), std::greater_equal<>()) ==
              table.dropped_rows.end(),
          "numbers of dropped rows ascend");
  require(table.dropped_rows.empty() || table.dropped_rows.back() < table.view().num_numbers(),
          "a dropped row is one of the table");
  if (!table.labels.offsets.empty()) check_texts(table.labels, table.num_rows);
}

}  // namespace culmen::fuzz
