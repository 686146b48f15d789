// Writes tables as CSV. Numbers have the shortest form that reads back to the same bits.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <unordered_set>
#include <variant>

#include "base/calendar.h"
#include "base/number_text.h"
#include "culmen/error.h"
#include "table/cell_type.h"
#include "table/write_rows.h"

namespace culmen::io {
namespace {

template <std::integral Integer>
void append_digits(Integer value, std::string& text) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

void append_id(std::int64_t id, IdType type, std::string& text) {
  type == IdType::uint64 ? append_digits(uint64_of_id(id), text) : append_digits(id, text);
}

// 1999 -> "19.99", 1950 -> "19.5"
void append_hundredths(std::int64_t hundredths, std::string& text) {
  if (hundredths < 0) text.push_back('-');
  const std::int64_t size = std::abs(hundredths);
  append_digits(size / 100, text);
  text.push_back('.');
  text.push_back(static_cast<char>('0' + size / 10 % 10));
  if (size % 10 != 0) text.push_back(static_cast<char>('0' + size % 10));
}

// -0 keeps its sign. Prices and scores have at most two decimals, so these are tried first: different decimals of up to
// 15 digits are different doubles, so one that equals the value is what std::to_chars would find, three times as
// slowly.
void append_number(double value, std::string& text) {
  constexpr double kLargestTried = 1e12;
  if (std::fabs(value) < kLargestTried && !(value == 0 && std::signbit(value))) {
    const auto hundredths = static_cast<std::int64_t>(value * 100 + std::copysign(0.5, value));
    if (static_cast<double>(hundredths) / 100 == value) {
      return hundredths % 100 == 0 ? append_digits(hundredths / 100, text)
                                   : append_hundredths(hundredths, text);
    }
  }
  char digits[kMaxNumberText];
  text.append(digits, write_number(value, digits));
}

// A whole number of a column that has other types than floating.
void append_whole(std::int64_t value, const ColumnFormat& format, std::string& text) {
  switch (format.type) {
    case ColumnType::boolean:
      text.append(value != 0 ? "true" : "false");
      return;
    case ColumnType::date:
      return append_date(value, text);
    case ColumnType::timestamp:
      return append_timestamp(value, format, text);
    case ColumnType::floating:
    case ColumnType::integer:
    case ColumnType::text:
      break;
  }
  append_digits(value, text);
}

void append_float(double value, const ColumnFormat& format, std::string& text) {
  if (std::isnan(value)) return;
  const bool is_whole = is_in_int64(value) && value == std::trunc(value);
  if (format.type == ColumnType::floating || !is_whole) return append_number(value, text);
  append_whole(static_cast<std::int64_t>(value), format, text);
}

// Leaves the cell of a missing value empty. Writes a float32 as the float64 it equals: readers parse float64, and the
// shorter "0.1" would read back as a number other than 0.1f.
void append_cell(const ColumnView& column, const ColumnFormat& format, std::size_t row, std::string& text) {
  if (column.validity.is_missing(row)) return;
  switch (column.type) {
    case ElementType::float32:
      return append_float(load<float>(column, row), format, text);
    case ElementType::float64:
      return append_float(load<double>(column, row), format, text);
    case ElementType::int32:
      return append_whole(load<std::int32_t>(column, row), format, text);
    case ElementType::int64:
      return append_whole(load<std::int64_t>(column, row), format, text);
  }
}

bool needs_quotes(std::string_view field) {
  const auto is_special = [](char c) { return c == '"' || c == ',' || c == '\r' || c == '\n'; };
  if (std::any_of(field.begin(), field.end(), is_special)) return true;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  return !field.empty() && (is_blank(field.front()) || is_blank(field.back()));
}

void append_field(std::string_view field, std::string& text) {
  if (!needs_quotes(field)) {
    text.append(field);
    return;
  }
  text.push_back('"');
  for (const char c : field) text.append(c == '"' ? 2 : 1, c);
  text.push_back('"');
}

// A missing text is an empty cell, and an empty text one of two quotes.
void append_text(const TextView& column, std::size_t row, std::string& text) {
  if (column.validity.is_missing(row)) return;
  const std::string_view value = column.texts[row];
  if (value.empty()) {
    text.append("\"\"");
  } else {
    append_field(value, text);
  }
}

std::vector<std::string> csv_column_names(const Table& table) {
  std::vector<std::string> names;
  if (!table.ids.empty()) names.push_back(table.id_name.empty() ? "id" : table.id_name);
  const bool texts_are_ids = table.id_type == IdType::text;
  const std::string& label_name = texts_are_ids ? table.id_name : table.label_name;
  if (!table.labels.offsets.empty())
    names.push_back(!label_name.empty() ? label_name : texts_are_ids ? "id" : "label");
  for (const Attribute& attribute : table.attributes) names.push_back(attribute.name);
  for (const Field& field : table.fields) names.push_back(field.name);

  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second)
      throw InvalidArgument("two columns of the CSV would be called \"" + name + "\"");
  }
  return names;
}

void append_csv_rows(const TableView& table, std::size_t first, std::size_t end, std::string& text) {
  constexpr std::size_t kUsualCellBytes = 20;
  text.reserve((end - first) * (table.columns.size() + table.fields.size() + 2) * kUsualCellBytes);
  for (std::size_t row = first; row < end; ++row) {
    if (!table.ids.empty()) {
      append_id(table.ids[row], table.id_type, text);
      text.push_back(',');
    }
    if (!table.labels.empty()) {
      if (table.id_type == IdType::text) {
        append_text({table.labels, {}}, row, text);
      } else {
        append_field(table.labels[row], text);
      }
      text.push_back(',');
    }
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      append_cell(table.columns[i], table.attributes[i].format, row, text);
      text.push_back(',');
    }
    for (std::size_t i = 0; i < table.fields.size(); ++i) {
      if (const TextView* const texts = std::get_if<TextView>(&table.field_views[i])) {
        append_text(*texts, row, text);
      } else {
        append_cell(std::get<ColumnView>(table.field_views[i]), table.fields[i].format, row, text);
      }
      text.push_back(',');
    }
    text.back() = '\n';
  }
}

}  // namespace

void write_csv(const Table& table, OutputFile& output) {
  std::string header;
  for (const std::string& name : csv_column_names(table)) {
    append_field(name, header);
    header.push_back(',');
  }
  header.back() = '\n';
  output.write(header);

  const TableView view = table.view();
  const auto format = [&](std::size_t first, std::size_t end, std::string& text) {
    append_csv_rows(view, first, end, text);
  };
  write_rows(view.num_rows, view.columns.size() + view.fields.size(), format, output);
}

}  // namespace culmen::io
