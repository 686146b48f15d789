// The columns of answers: which are shown, their values, and their names in text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "culmen/index.h"

namespace culmen {

inline constexpr EnumNames<ColumnType, 6> kColumnTypes = {"type",
                                                          {{{"number", ColumnType::floating},
                                                            {"integer", ColumnType::integer},
                                                            {"boolean", ColumnType::boolean},
                                                            {"date", ColumnType::date},
                                                            {"timestamp", ColumnType::timestamp},
                                                            {"text", ColumnType::text}}}};

inline constexpr EnumNames<StandIn, 4> kStandIns = {"policy",
                                                    {{{"worst", StandIn::worst},
                                                      {"median", StandIn::median},
                                                      {"mean", StandIn::mean},
                                                      {"refuse", StandIn::refuse}}}};

// A column of an index that is shown.
struct ShownColumn {
  bool is_attribute = true;
  std::size_t position = 0;  // among the attributes, or among the fields
  std::string name;
  std::string title;  // unique among all columns of an answer
  ColumnFormat format = {};
};

// The attributes and fields of an index, or those that `show` names, in that order. A title is the column's name. One
// that is called like a column of the program (`own`) gets the prefix "attribute." or "field.", whether or not that
// column is present: titles do not depend on options. Throws InvalidArgument for an unknown name; the text begins with
// `option`.
std::vector<ShownColumn> shown_columns(const IndexInfo& info,
                                       const std::optional<std::vector<std::string>>& show,
                                       const std::vector<std::string>& own, std::string_view option);

// A value of an attribute: an int64 if its format says that these are whole numbers; NaN is missing.
FieldValue attribute_value(double value, const ColumnFormat& format);

// The value of a column in a row.
FieldValue value_of(const Row& row, const ShownColumn& column);

// Every digit, dates and timestamps as they are read. Missing values are empty.
std::string exact_text(const FieldValue& value, const ColumnFormat& format);

// "number", "integer", "boolean", "date", "timestamp", "text".
std::string_view type_name(ColumnType type);
std::string_view unit_name(TimeUnit unit);         // "s", "ms", "us", "ns"
std::string_view stand_in_name(StandIn stand_in);  // "worst", "median", ..., "number"

}  // namespace culmen
