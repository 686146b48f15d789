#include "index/field_rows.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "base/exact_integer.h"
#include "base/floating_point_scope.h"
#include "base/number_text.h"
#include "culmen/error.h"
#include "index/calendar_values.h"
#include "index/column_element.h"
#include "index/field_key.h"
#include "index/text_check.h"

namespace culmen {
namespace {

std::string quoted(const Field& field) {
  return "column \"" + field.name + "\"";
}

void check_names(const TableView& table) {
  std::set<std::string_view> names;
  for (const Attribute& attribute : table.attributes) names.insert(attribute.name);
  for (const Field& field : table.fields) {
    if (field.name.empty()) throw InputError("a column has an empty name");
    if (!names.insert(field.name).second) throw InputError("two columns are called \"" + field.name + "\"");
  }
}

void check_size(const Field& field, std::size_t size, std::size_t num_rows) {
  if (size != num_rows)
    throw InputError(std::to_string(num_rows) + " rows but " + std::to_string(size) + " values in " +
                     quoted(field));
}

void check_texts(const Field& field, const TextView& view, std::size_t num_rows) {
  const std::span<const std::uint64_t> offsets = view.texts.offsets;
  const std::span<const char> bytes = view.texts.bytes;
  if (!field.is_text()) throw InputError(quoted(field) + " holds texts where numbers are expected");
  check_size(field, offsets.empty() ? 0 : offsets.size() - 1, num_rows);
  if (num_rows == 0) return;
  if (offsets.data() == nullptr || (!bytes.empty() && bytes.data() == nullptr))
    throw InputError(quoted(field) + " is a null pointer");
  const auto back = std::adjacent_find(offsets.begin(), offsets.end(), std::greater<>());
  if (back != offsets.end())
    throw RowError(static_cast<std::uint64_t>(back - offsets.begin()),
                   quoted(field) + ": the text ends before it begins");
  if (offsets.back() > bytes.size())
    throw InputError("the texts of " + quoted(field) + " end at byte " + std::to_string(offsets.back()) +
                     ", but there are " + std::to_string(bytes.size()) + " bytes");
  if (const std::optional<std::uint64_t> row = first_without_utf8(view))
    throw RowError(*row, quoted(field) + ": the text is not UTF-8");
}

// Whether the column's type holds the value exactly.
template <typename T>
bool holds(ColumnType type, T value) {
  switch (type) {
    case ColumnType::floating:
      if constexpr (std::is_floating_point_v<T>) return std::isfinite(value);
      return is_exact_in_float64(static_cast<std::int64_t>(value));
    case ColumnType::boolean:
      return value == T{0} || value == T{1};
    default:
      if constexpr (std::is_floating_point_v<T>)
        if (std::trunc(value) != value || value < T{-0x1p63} || value >= T{0x1p63}) return false;
      return is_in_calendar(type, value);
  }
}

template <typename T>
std::int64_t key_of(ColumnType type, T value) {
  return type == ColumnType::floating ? key_of_double(static_cast<double>(value))
                                      : static_cast<std::int64_t>(value);
}

constexpr std::uint64_t kNoBadRow = std::numeric_limits<std::uint64_t>::max();

template <typename T>
std::uint64_t first_bad_row(ColumnType type, const ColumnView& column,
                            const tbb::blocked_range<std::uint64_t>& rows) {
  for (std::uint64_t row = rows.begin(); row < rows.end(); ++row) {
    const T value = column_element<T>(column, row);
    if (!is_missing_element(column, row, value) && !holds(type, value)) return row;
  }
  return kNoBadRow;
}

template <typename T>
std::string describe_bad_key(ColumnType type, T value) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isinf(value)) return "infinity is not a value; a missing one is NaN";
  if (!is_in_calendar(type, value)) return fault_in_calendar(type, value);
  if constexpr (std::is_floating_point_v<T>) {
    const std::string text = number_text(static_cast<double>(value));
    return text + (type == ColumnType::boolean ? " is not a boolean: 0 or 1" : " is not a 64-bit integer");
  } else {
    return std::to_string(value) + (type == ColumnType::boolean
                                        ? " is not a boolean: 0 or 1"
                                        : " is beyond 2^53 and would lose digits as float64");
  }
}

void check_numbers(const Field& field, const ColumnView& column, std::size_t num_rows) {
  if (field.is_text()) throw InputError(quoted(field) + " holds numbers where texts are expected");
  check_size(field, column.size, num_rows);
  if (num_rows == 0) return;
  if (column.data == nullptr)
    throw InputError(quoted(field) + " is a null pointer, but the table has " + std::to_string(num_rows) +
                     " rows");
  const ColumnType type = field.format.type;
  visit_element_type(column, [&]<typename T>(T) {
    const std::uint64_t bad = tbb::parallel_reduce(
        tbb::blocked_range<std::uint64_t>(0, num_rows, 1 << 16), kNoBadRow,
        [&](const tbb::blocked_range<std::uint64_t>& rows, std::uint64_t found) {
          return std::min(found, first_bad_row<T>(type, column, rows));
        },
        [](std::uint64_t a, std::uint64_t b) { return std::min(a, b); });
    if (bad != kNoBadRow)
      throw RowError(bad, quoted(field) + ": " + describe_bad_key(type, column_element<T>(column, bad)));
  });
}

FieldRows read_texts(const TextView& view, std::span<const std::uint64_t> rows,
                     const Dictionary* dictionary) {
  FieldRows result;
  if (dictionary == nullptr) {
    result.texts.reserve(rows.size());
    for (const std::uint64_t row : rows) result.texts.push_back(view.texts[row]);
  } else {
    result.keys.reserve(rows.size());
    for (const std::uint64_t row : rows) {
      const bool is_missing = view.validity.is_missing(row);
      const std::optional<std::uint32_t> code =
          is_missing ? std::optional<std::uint32_t>(0) : dictionary->find(view.texts[row]);
      result.keys.push_back(code ? std::int64_t{*code} : -1);
    }
  }
  if (view.validity.bits == nullptr) return result;
  result.missing.reserve(rows.size());
  for (const std::uint64_t row : rows) result.missing.push_back(view.validity.is_missing(row));
  return result;
}

FieldRows read_numbers(const Field& field, const ColumnView& column, std::span<const std::uint64_t> rows) {
  const FloatingPointScope floating_point;
  FieldRows result;
  result.keys.resize(rows.size());
  visit_element_type(column, [&]<typename T>(T) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const T value = column_element<T>(column, rows[r]);
      if (!is_missing_element(column, rows[r], value)) {
        result.keys[r] = key_of(field.format.type, value);
        continue;
      }
      if (result.missing.empty()) result.missing.resize(rows.size());
      result.missing[r] = true;
    }
  });
  return result;
}

}  // namespace

void check_fields(const TableView& table) {
  if (table.fields.size() > static_cast<std::size_t>(kMaxFields))
    throw InputError("the table has " + std::to_string(table.fields.size()) +
                     " columns besides its attributes; an index keeps at most " + std::to_string(kMaxFields));
  if (table.field_views.size() != table.fields.size())
    throw InputError(std::to_string(table.fields.size()) + " fields but " +
                     std::to_string(table.field_views.size()) + " columns of values");
  check_names(table);
  for (std::size_t f = 0; f < table.fields.size(); ++f) {
    if (const auto* texts = std::get_if<TextView>(&table.field_views[f])) {
      check_texts(table.fields[f], *texts, table.num_rows);
    } else {
      check_numbers(table.fields[f], std::get<ColumnView>(table.field_views[f]), table.num_rows);
    }
  }
}

FieldRows read_field(const Field& field, const FieldView& view, std::span<const std::uint64_t> rows,
                     const Dictionary* dictionary) {
  const auto* texts = std::get_if<TextView>(&view);
  if (texts == nullptr) return read_numbers(field, std::get<ColumnView>(view), rows);
  return read_texts(*texts, rows, has_dictionary(field) ? dictionary : nullptr);
}

}  // namespace culmen
