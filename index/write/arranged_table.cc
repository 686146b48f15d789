#include "index/write/arranged_table.h"

#include <cmath>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/number_text.h"
#include "culmen/error.h"
#include "index/column_element.h"

namespace culmen {
namespace {

struct GivenColumn {
  const ColumnFormat* format;
  FieldView values;
};
using GivenColumns = std::map<std::string_view, GivenColumn>;

std::string names_of(const Snapshot& s) {
  std::string names;
  for (const Attribute& attribute : s.attributes) names += (names.empty() ? "" : ", ") + attribute.name;
  for (const Field& field : s.fields) names += ", " + field.name;
  return names;
}

void add_column(GivenColumns& columns, const std::string& name, const GivenColumn& column) {
  if (!columns.emplace(name, column).second) throw InvalidArgument("column \"" + name + "\" is given twice");
}

// A table without names has the attributes in their order.
GivenColumns columns_of(const TableView& table, const Snapshot& s) {
  const bool has_names = !table.attributes.empty();
  if (!has_names && table.columns.size() != s.attributes.size())
    throw InvalidArgument(std::to_string(table.columns.size()) + " columns; the index has " +
                          std::to_string(s.attributes.size()) + " attributes: " + names_of(s));
  const std::vector<Attribute>& attributes = has_names ? table.attributes : s.attributes;
  if (attributes.size() != table.columns.size())
    throw InvalidArgument(std::to_string(attributes.size()) + " attributes but " +
                          std::to_string(table.columns.size()) + " columns");
  if (table.fields.size() != table.field_views.size())
    throw InvalidArgument(std::to_string(table.fields.size()) + " fields but " +
                          std::to_string(table.field_views.size()) + " columns of values");
  GivenColumns columns;
  for (std::size_t i = 0; i < attributes.size(); ++i)
    add_column(columns, attributes[i].name, {&attributes[i].format, table.columns[i]});
  for (std::size_t f = 0; f < table.fields.size(); ++f)
    add_column(columns, table.fields[f].name, {&table.fields[f].format, table.field_views[f]});
  return columns;
}

std::string_view plural_of(ColumnType type) {
  switch (type) {
    case ColumnType::floating:
      return "numbers";
    case ColumnType::integer:
      return "integers";
    case ColumnType::boolean:
      return "booleans";
    case ColumnType::date:
      return "dates";
    case ColumnType::timestamp:
      return "timestamps";
    case ColumnType::text:
      break;
  }
  return "texts";
}

// Tables of bare numbers do not say what these are. Where the index has bare numbers, booleans are 0 and 1.
bool is_number(ColumnType type) {
  return type == ColumnType::floating || type == ColumnType::integer;
}

void require_match(const std::string& name, const GivenColumn& given, const ColumnFormat& known) {
  const bool has_texts = std::holds_alternative<TextView>(given.values);
  const ColumnType type = has_texts                                ? ColumnType::text
                          : given.format->type == ColumnType::text ? ColumnType::floating
                                                                   : given.format->type;
  const bool both_texts = has_texts && known.type == ColumnType::text;
  const bool both_numbers = !has_texts && known.type != ColumnType::text;
  if (!both_texts && !(both_numbers && (type == known.type || is_number(type) ||
                                        (type == ColumnType::boolean && is_number(known.type)))))
    throw InvalidArgument("column \"" + name + "\" has " + std::string(plural_of(type)) +
                          "; in the index it has " + std::string(plural_of(known.type)));
  if (type == ColumnType::timestamp && given.format->time_zone.empty() != known.time_zone.empty())
    throw InvalidArgument("column \"" + name + "\" has timestamps " +
                          (known.time_zone.empty() ? "with a time zone; in the index they have none"
                                                   : "without a time zone; in the index they have one"));
}

std::string_view name_of(TimeUnit unit) {
  constexpr std::string_view kNames[] = {"seconds", "milliseconds", "microseconds", "nanoseconds"};
  return kNames[static_cast<std::size_t>(unit)];
}

// How many of the finer unit are in the coarser one.
std::int64_t ratio_of(TimeUnit a, TimeUnit b) {
  std::int64_t ratio = 1;
  for (int step = std::abs(static_cast<int>(a) - static_cast<int>(b)); step > 0; --step) ratio *= 1000;
  return ratio;
}

template <typename T>
std::optional<std::int64_t> converted(T value, TimeUnit from, TimeUnit to) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::trunc(value) != value || value < T{-0x1p63} || value >= T{0x1p63}) return std::nullopt;
  const auto time = static_cast<std::int64_t>(value);
  const std::int64_t ratio = ratio_of(from, to);
  std::int64_t result;
  if (from < to) return __builtin_mul_overflow(time, ratio, &result) ? std::nullopt : std::optional(result);
  return time % ratio == 0 ? std::optional(time / ratio) : std::nullopt;
}

}  // namespace

ArrangedTable::ArrangedTable(const TableView& given, const Snapshot& s)
    : view_(given), position_of_field_(s.fields.size()) {
  GivenColumns columns = columns_of(given, s);
  view_.attributes = s.attributes;
  view_.columns.clear();
  view_.fields.clear();
  view_.field_views.clear();
  converted_.reserve(columns.size());
  const auto take = [&](const std::string& name, const ColumnFormat& known) -> std::optional<FieldView> {
    const auto found = columns.find(name);
    if (found == columns.end()) return std::nullopt;
    require_match(name, found->second, known);
    FieldView values = found->second.values;
    const ColumnFormat& format = *found->second.format;
    if (format.type == ColumnType::timestamp && format.unit != known.unit)
      convert_unit(name, std::get<ColumnView>(values), format.unit, known.unit);
    columns.erase(found);
    return values;
  };
  for (const Attribute& attribute : s.attributes) {
    const std::optional<FieldView> values = take(attribute.name, attribute.format);
    if (!values) throw InvalidArgument("no column \"" + attribute.name + "\"; the index has " + names_of(s));
    view_.columns.push_back(std::get<ColumnView>(*values));
  }
  for (std::size_t f = 0; f < s.fields.size(); ++f)
    if (const std::optional<FieldView> values = take(s.fields[f].name, s.fields[f].format)) {
      position_of_field_[f] = view_.fields.size();
      view_.fields.push_back(s.fields[f]);
      view_.field_views.push_back(*values);
    }
  if (!columns.empty())
    throw InvalidArgument("the index has no column \"" + std::string(columns.begin()->first) + "\"; it has " +
                          names_of(s));
}

void ArrangedTable::convert_unit(const std::string& name, ColumnView& column, TimeUnit from, TimeUnit to) {
  if (column.data == nullptr || column.size != view_.num_rows) return;  // table_stats() refuses it
  Timestamps& made = converted_.emplace_back();
  made.values.resize(column.size);
  made.validity.assign(column.size / 8 + 1, 0xff);
  visit_element_type(column, [&]<typename T>(T) {
    for (std::size_t row = 0; row < column.size; ++row) {
      const T value = column_element<T>(column, row);
      if (is_missing_element(column, row, value)) {
        made.validity[row / 8] &= static_cast<std::uint8_t>(~(1U << row % 8));
        continue;
      }
      const std::optional<std::int64_t> time = converted(value, from, to);
      if (!time)
        throw RowError(row, "column \"" + name + "\": " + number_text(static_cast<double>(value)) + " " +
                                std::string(name_of(from)) + " cannot be stored as " +
                                std::string(name_of(to)) + ", the unit in the index");
      made.values[row] = *time;
    }
  });
  column = ColumnView(made.values);
  column.validity = {made.validity.data()};
}

}  // namespace culmen
