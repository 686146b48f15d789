// Input tables: named columns, optional ids and optional labels. Values may be missing: NaN, or a value that is marked
// as missing by its column's validity bitmap.
//
// TableView owns no memory: the caller's memory must live until the call that takes the view returns. Table owns its
// memory; the readers in culmen/table_io.h return it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "culmen/array.h"
#include "culmen/csv_dialect.h"
#include "culmen/schema.h"

namespace culmen {

enum class ElementType : std::uint8_t { float32, float64, int32, int64 };

template <typename T>
concept Element = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> ||
    std::is_same_v<T, std::int64_t>;

template <Element T>
constexpr ElementType element_type_of() {
  if constexpr (std::is_same_v<T, float>) return ElementType::float32;
  if constexpr (std::is_same_v<T, double>) return ElementType::float64;
  if constexpr (std::is_same_v<T, std::int32_t>) return ElementType::int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return ElementType::int64;
}

// Which values of a column are there, as Arrow says it: value i is missing if bit offset + i is 0, counted from the least
// significant bit of the first byte.
struct Validity {
  const std::uint8_t* bits = nullptr;  // null: none is missing
  std::size_t offset = 0;

  bool is_missing(std::size_t i) const {
    return bits != nullptr && (bits[(offset + i) / 8] >> (offset + i) % 8 & 1) == 0;
  }
};

// One column: value i is at data + i * stride_bytes. A column of a row-major matrix has a stride of its row size.
struct ColumnView {
  const std::byte* data = nullptr;
  std::size_t size = 0;  // values
  std::ptrdiff_t stride_bytes = 0;
  ElementType type = ElementType::float32;
  Validity validity = {};

  ColumnView() = default;
  // Views a vector, array or span.
  template <std::ranges::contiguous_range Values>
  requires Element<std::ranges::range_value_t<Values>> ColumnView(const Values& values)
      : ColumnView(std::ranges::data(values), std::ranges::size(values)) {}
  template <std::ranges::contiguous_range Values>
  requires(!std::ranges::borrowed_range<Values>) ColumnView(const Values&& values)
  = delete;  // a temporary would dangle
  template <Element T>
  ColumnView(const T* first, std::size_t num_values, std::ptrdiff_t stride_elements = 1)
      : data(reinterpret_cast<const std::byte*>(first)),
        size(num_values),
        stride_bytes(stride_elements * static_cast<std::ptrdiff_t>(sizeof(T))),
        type(element_type_of<T>()) {}
};

// UTF-8 labels, concatenated: label i is bytes[offsets[i], offsets[i + 1]). Without offsets there are no labels.
struct LabelsView {
  std::span<const char> bytes;
  std::span<const std::uint64_t> offsets;  // [num_rows + 1], or empty

  bool empty() const { return offsets.empty(); }
  std::string_view operator[](std::size_t row) const {
    return {bytes.data() + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row])};
  }
};

// A column of texts.
struct TextView {
  LabelsView texts;  // [num_rows]
  Validity validity = {};
};

// The values of a filter or stored column: numbers as Field's format says, or texts.
using FieldView = std::variant<ColumnView, TextView>;

// The number of a row, dropped rows counted. `dropped`: the numbers of the dropped rows, ascending.
inline std::uint64_t row_number(std::uint64_t row, std::span<const std::uint64_t> dropped) {
  std::size_t num_before = 0;  // dropped rows before it; at most `most`
  std::size_t most = dropped.size();
  while (num_before < most) {
    const std::size_t middle = num_before + (most - num_before) / 2;
    if (dropped[middle] - middle <= row) {
      num_before = middle + 1;
    } else {
      most = middle;
    }
  }
  return row + num_before;
}

// Which of several rows with one id are taken.
enum class Duplicates : std::uint8_t { error, first, last };

// "first" -> Duplicates::first; throws InvalidArgument listing the names.
Duplicates parse_duplicates(std::string_view name);

struct TableView {
  std::size_t num_rows = 0;
  std::vector<Attribute> attributes;  // [num_attributes], names unique and not empty
  std::vector<ColumnView> columns;    // [num_attributes] of num_rows values
  // [num_rows], unique but for Duplicates, as id_type says; empty: the rows' numbers, and then id_type is int64
  std::span<const std::int64_t> ids;
  LabelsView labels;  // [num_rows]; empty: none. With IdType::text they are the ids, and `ids` is empty
  // Rows are numbered 0, 1, 2, ... in order, dropped rows included. These are the numbers of the dropped rows,
  // ascending; they matter only for a table without ids.
  std::span<const std::uint64_t> dropped_rows = {};
  std::vector<Field> fields = {};             // names differ from each other's and the attributes'
  std::vector<FieldView> field_views = {};    // [num_fields] of num_rows values
  std::string id_name = {}, label_name = {};  // of the columns; an index keeps them (Index::schema)
  IdType id_type = IdType::int64;             // an index keeps it, too

  // The number of ids that are assigned to the table if it has none, those of dropped rows included.
  std::uint64_t num_numbers() const { return num_rows + dropped_rows.size(); }
};

// Views a row-major matrix [num_rows, attributes.size()] as a table, without a copy.
template <Element T>
TableView row_major_table(std::span<const T> values, std::vector<Attribute> attributes) {
  TableView table;
  const std::size_t width = attributes.size();
  table.num_rows = width == 0 ? 0 : values.size() / width;
  for (std::size_t i = 0; i < width; ++i) {
    const T* first = table.num_rows == 0 ? nullptr : &values[i];  // a null pointer takes no offset
    table.columns.emplace_back(first, table.num_rows, static_cast<std::ptrdiff_t>(width));
  }
  table.attributes = std::move(attributes);
  return table;
}

struct Labels {
  Array<char> bytes;
  // Begin with 0. Empty: there are no labels, which differs from the labels of no rows.
  Array<std::uint64_t> offsets;

  void append(std::string_view text) {
    if (offsets.empty()) offsets.push_back(0);
    bytes.insert(bytes.end(), text.begin(), text.end());
    offsets.push_back(bytes.size());
  }

  LabelsView view() const { return {bytes, offsets}; }
};

// Texts of a column, and which of them are missing.
struct Texts {
  Labels texts;
  Array<std::uint8_t> validity;  // as in Validity; empty: none is missing

  TextView view() const { return {texts.view(), {validity.empty() ? nullptr : validity.data()}}; }
};

// A table that owns its memory. The columns of a row-major file point into one matrix.
struct Table {
  using Values = std::variant<Array<float>, Array<double>, Array<std::int32_t>, Array<std::int64_t>>;

  std::size_t num_rows = 0;
  std::vector<Attribute> attributes;
  std::vector<Values> storage;                  // the columns point into it
  std::vector<Array<std::uint8_t>> validities;  // the columns point into them
  std::vector<ColumnView> columns;              // [num_attributes]
  std::vector<Field> fields;
  std::vector<std::variant<ColumnView, Texts>> field_columns;  // [num_fields]; the views point into storage
  std::string id_name;                                         // the id column's name; empty: no ids
  Array<std::int64_t> ids;                                     // as id_type says; empty: the rows' numbers
  IdType id_type = IdType::int64;
  std::string label_name;  // the label column's name; empty: no labels
  Labels labels;
  std::uint64_t num_dropped_rows = 0;       // by NullPolicy::drop, and those that were rejected
  std::uint64_t num_rejected_rows = 0;      // by ReadOptions::on_rejected_row
  std::vector<std::uint64_t> dropped_rows;  // their numbers, ascending; empty in a table with an id column
  // The location of a row in its file, for messages: "t.csv:3" (the line), "t.npy: row 3" (both from 1). Empty for a
  // table that is not from a file.
  std::function<std::string(std::size_t row)> location_of_row;
  CsvDialect dialect;  // of a text file: as given, or found

  Table() = default;
  Table(Table&&) = default;
  Table& operator=(Table&&) = default;
  Table(const Table&) = delete;  // columns point into storage
  Table& operator=(const Table&) = delete;

  TableView view() const {
    TableView table = {num_rows, attributes, columns, ids,        labels.view(), dropped_rows,
                       fields,   {},         id_name, label_name, id_type};
    for (const auto& column : field_columns) {
      if (const Texts* texts = std::get_if<Texts>(&column)) {
        table.field_views.emplace_back(texts->view());
      } else {
        table.field_views.emplace_back(std::get<ColumnView>(column));
      }
    }
    return table;
  }
};

}  // namespace culmen
