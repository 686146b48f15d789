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

// None is an empty label.
Labels labels_of(const nb::list& texts) {
  Labels labels;
  labels.offsets.reserve(texts.size() + 1);
  labels.offsets.push_back(0);
  for (const nb::handle text : texts) {
    if (!text.is_none()) {
      Py_ssize_t size = 0;
      const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
      if (bytes == nullptr) throw nb::python_error();
      labels.bytes.insert(labels.bytes.end(), bytes, bytes + size);
    }
    labels.offsets.push_back(labels.bytes.size());
  }
  return labels;
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

HeldTable::HeldTable(std::size_t num_rows, const nb::list& names, const nb::list& preferences,
                     const nb::list& columns, const nb::object& ids, const nb::object& labels,
                     const nb::object& dropped) {
  view_.num_rows = num_rows;
  for (std::size_t i = 0; i < names.size(); ++i)
    view_.attributes.push_back(
        {nb::cast<std::string>(names[i]), kPreferences.parse(nb::cast<std::string_view>(preferences[i]))});
  for (const nb::handle column : columns) {
    columns_.push_back(nb::cast<Array>(column));
    view_.columns.push_back(column_view(columns_.back()));
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
    labels_ = labels_of(nb::cast<nb::list>(labels));
    view_.labels = labels_.view();
  }
}

}  // namespace culmen::python
