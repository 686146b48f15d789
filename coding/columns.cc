#include "coding/columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <variant>

#include "base/calendar.h"
#include "base/number_text.h"
#include "base/suggestion.h"
#include "coding/known_names.h"
#include "culmen/error.h"
#include "table/cell_type.h"

namespace culmen {
namespace {

std::vector<ShownColumn> all_columns(const IndexInfo& info, const std::vector<std::string>& own) {
  std::vector<ShownColumn> columns;
  for (const AttributeInfo& attribute : info.attributes)
    columns.push_back({true, columns.size(), attribute.name, attribute.name, attribute.format});
  for (std::size_t i = 0; i < info.fields.size(); ++i) {
    const Field& field = info.fields[i].field;
    columns.push_back({false, i, field.name, field.name, field.format});
  }
  std::set<std::string> taken(own.begin(), own.end());
  for (const ShownColumn& column : columns) taken.insert(column.name);
  for (ShownColumn& column : columns) {
    if (std::find(own.begin(), own.end(), column.name) == own.end()) continue;
    do column.title.insert(0, column.is_attribute ? "attribute." : "field.");
    while (taken.contains(column.title));
    taken.insert(column.title);
  }
  return columns;
}

std::string whole_text(std::int64_t value, const ColumnFormat& format) {
  std::string text;
  switch (format.type) {
    case ColumnType::boolean:
      return value != 0 ? "true" : "false";
    case ColumnType::date:
      append_date(value, text);
      return text;
    case ColumnType::timestamp:
      append_timestamp(value, format, text);
      return text;
    case ColumnType::floating:
    case ColumnType::integer:
    case ColumnType::text:
      break;
  }
  return std::to_string(value);
}

}  // namespace

std::vector<ShownColumn> shown_columns(const IndexInfo& info,
                                       const std::optional<std::vector<std::string>>& show,
                                       const std::vector<std::string>& own, std::string_view option) {
  std::vector<ShownColumn> columns = all_columns(info, own);
  if (!show) return columns;
  std::vector<ShownColumn> shown;
  for (const std::string& name : *show) {
    const auto found = std::ranges::find(columns, name, &ShownColumn::name);
    if (found == columns.end()) {
      std::vector<std::string> known;
      for (const ShownColumn& column : columns) known.push_back(column.name);
      throw InvalidArgument(fmt::format("{}: there is no column '{}'{}; the columns are {}", option, name,
                                        did_you_mean(name, known), known_columns(info)));
    }
    if (std::ranges::find(shown, name, &ShownColumn::name) != shown.end())
      throw InvalidArgument(fmt::format("{}: column '{}' is named twice", option, name));
    shown.push_back(*found);
  }
  return shown;
}

FieldValue attribute_value(double value, const ColumnFormat& format) {
  if (std::isnan(value)) return std::monostate{};
  const bool is_whole = io::is_in_int64(value) && value == std::trunc(value);
  if (is_whole && format.type != ColumnType::floating) return static_cast<std::int64_t>(value);
  return value;
}

FieldValue value_of(const Row& row, const ShownColumn& column) {
  if (!column.is_attribute && column.position >= row.fields.size())
    throw InvalidArgument("the index was replaced by one with other columns");
  if (!column.is_attribute) return row.fields[column.position];
  return attribute_value(row.values[column.position], column.format);
}

std::string exact_text(const FieldValue& value, const ColumnFormat& format) {
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) return whole_text(*whole, format);
  if (const auto* const number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  return "";
}

std::string_view type_name(ColumnType type) {
  return kColumnTypes.name(type);
}

std::string_view unit_name(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::second:
      return "s";
    case TimeUnit::millisecond:
      return "ms";
    case TimeUnit::microsecond:
      return "us";
    case TimeUnit::nanosecond:
      break;
  }
  return "ns";
}

std::string_view stand_in_name(StandIn stand_in) {
  return stand_in == StandIn::number ? "number" : kStandIns.name(stand_in);
}

}  // namespace culmen
