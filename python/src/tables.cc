#include "tables.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string>
#include <string_view>

#include "culmen/error.h"
#include "names.h"

namespace culmen::python {
namespace {

ElementType element_type_of(nb::dlpack::dtype type) {
  if (type == nb::dtype<float>()) return ElementType::float32;
  if (type == nb::dtype<double>()) return ElementType::float64;
  if (type == nb::dtype<std::int32_t>()) return ElementType::int32;
  if (type == nb::dtype<std::int64_t>()) return ElementType::int64;
  throw InvalidArgument("a column is neither float32, float64, int32 nor int64");
}

std::span<const std::uint64_t> numbers_view(const Numbers& numbers) {
  if (!numbers.is_valid()) return {};
  return {numbers.data(), numbers.size()};
}

std::vector<std::uint8_t> validity_of(const Gaps& gaps) {
  std::vector<std::uint8_t> validity((gaps.size() + 7) / 8);
  for (std::size_t row = 0; row < gaps.size(); ++row)
    if (!gaps(row)) validity[row / 8] |= static_cast<std::uint8_t>(1 << row % 8);
  return validity;
}

}  // namespace

ColumnView column_view(const Array& array) {
  if (array.ndim() != 1) throw InvalidArgument("a column has more or less than one dimension");
  ColumnView view;
  view.data = static_cast<const std::byte*>(array.data());
  view.size = array.shape(0);
  view.stride_bytes = array.stride(0) * static_cast<std::ptrdiff_t>(array.itemsize());
  view.type = element_type_of(array.dtype());
  return view;
}

std::span<const std::int64_t> ids_view(const Ids& ids) {
  return {ids.data(), ids.size()};
}

RowError HeldTable::in_given_table(const RowError& error) const {
  return {row_number(error.row(), numbers_view(dropped_)), std::string(error.problem())};
}

ColumnFormat format_of(nb::handle format) {
  const auto parts = nb::cast<nb::tuple>(format);
  ColumnFormat result;
  result.type = kColumnTypes.parse(nb::cast<std::string_view>(parts[0]));
  if (result.type != ColumnType::timestamp) return result;
  result.unit = kTimeUnits.parse(nb::cast<std::string_view>(parts[1]));
  result.time_zone = nb::cast<std::string>(parts[2]);
  return result;
}

std::vector<Attribute> attributes_of(const nb::list& attributes) {
  std::vector<Attribute> result;
  for (const nb::handle given : attributes)
    result.push_back({.name = nb::cast<std::string>(given[0]),
                      .preference = kPreferences.parse(nb::cast<std::string_view>(given[1])),
                      .stand_in = kStandIns.parse(nb::cast<std::string_view>(given[2])),
                      .number = nb::cast<double>(given[3]),
                      .format = format_of(given[4])});
  return result;
}

std::vector<Field> fields_of(const nb::list& fields) {
  std::vector<Field> result;
  for (const nb::handle given : fields)
    result.push_back({.name = nb::cast<std::string>(given[0]),
                      .role = kFieldRoles.parse(nb::cast<std::string_view>(given[1])),
                      .format = format_of(given[2])});
  return result;
}

ColumnView HeldTable::numbers_view_of(nb::handle values, nb::handle gaps) {
  columns_.push_back(nb::cast<Array>(values));
  ColumnView view = column_view(columns_.back());
  if (gaps.is_none()) return view;
  const auto flags = nb::cast<Gaps>(gaps);
  if (flags.size() != view.size) throw InvalidArgument("the gaps are not those of the column");
  validities_.push_back(validity_of(flags));
  view.validity.bits = validities_.back().data();
  return view;
}

HeldTable::HeldTable(std::size_t num_rows, const nb::list& attributes, const nb::list& columns,
                     const nb::list& fields, const nb::list& field_columns, const nb::object& ids,
                     const nb::object& labels, const nb::object& dropped, std::string_view id_name,
                     std::string_view label_name, std::string_view id_type) {
  view_.num_rows = num_rows;
  view_.attributes = attributes_of(attributes);
  for (const nb::handle column : columns)
    view_.columns.push_back(numbers_view_of(nb::object(column[0]), nb::object(column[1])));
  view_.fields = fields_of(fields);
  for (const nb::handle column : field_columns) {
    const nb::object values = column[0], gaps = column[1];
    if (nb::isinstance<TextColumn>(values)) {
      texts_.push_back(values);
      view_.field_views.emplace_back(nb::cast<const TextColumn&>(values).view());
    } else {
      view_.field_views.emplace_back(numbers_view_of(values, gaps));
    }
  }
  if (!ids.is_none()) {
    ids_ = nb::cast<Ids>(ids);
    view_.ids = ids_view(ids_);
  }
  if (!dropped.is_none()) {
    dropped_ = nb::cast<Numbers>(dropped);
    if (ids.is_none()) view_.dropped_rows = numbers_view(dropped_);
  }
  if (!labels.is_none()) {
    texts_.push_back(labels);
    view_.labels = nb::cast<const TextColumn&>(labels).view().texts;
  }
  view_.id_name = id_name;
  view_.label_name = label_name;
  view_.id_type = parse_id_type(id_type);
}

}  // namespace culmen::python
