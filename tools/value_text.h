// Values of attributes and fields as text, and the columns of answers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/index.h"

namespace culmen::tools {

// A column of an index that is printed.
struct ShownColumn {
  bool is_attribute = true;
  std::size_t position = 0;  // among the attributes, or among the fields
  std::string name;
  std::string title;  // unique among all columns of an answer
  ColumnFormat format = {};
};

// The attributes and fields of an index, or those that `show` names, in that order. A title is the column's name. One
// that is called like a column of the program (`own`) gets the prefix "attribute." or "field.", whether or not that
// column is present: titles do not depend on options. Throws InvalidArgument for an unknown name.
std::vector<ShownColumn> shown_columns(const IndexInfo& info, const std::optional<std::string>& show,
                                       const std::vector<std::string>& own);

// A value of an attribute: an int64 if its format says that these are whole numbers; NaN is missing.
FieldValue attribute_value(double value, const ColumnFormat& format);

// The value of a column in a row.
FieldValue value_of(const Row& row, const ShownColumn& column);

// Every digit, dates and timestamps as they are read. Missing values are empty.
std::string exact_text(const FieldValue& value, const ColumnFormat& format);
// A cell of CSV: as exact_text, quoted if needed, and "" for an empty text.
std::string csv_cell(const FieldValue& value, const ColumnFormat& format);
// For people: floats are rounded.
std::string readable_text(const FieldValue& value, const ColumnFormat& format, ValueType type);

// "number", "integer", "boolean", "date", "timestamp", "text".
std::string_view type_name(ColumnType type);
// With unit and zone: "timestamp in ms, UTC".
std::string format_text(const ColumnFormat& format);
std::string_view unit_name(TimeUnit unit);  // "s", "ms", "us", "ns"

}  // namespace culmen::tools
