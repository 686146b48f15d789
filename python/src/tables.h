// Tables as culmen/_tables.py hands them over: NumPy columns of one dimension, of an element type that culmen
// reads, in memory of the host.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/error.h"
#include "culmen/table.h"
#include "text_column.h"

namespace culmen::python {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
using Gaps = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ids = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Keeps what the view points into.
class HeldTable {
 public:
  // The members of Columns in _tables.py, in their order. Throws InvalidArgument for what _tables.py should not have
  // let through.
  HeldTable(std::size_t num_rows, const nb::list& attributes, const nb::list& columns, const nb::list& fields,
            const nb::list& field_columns, const nb::object& ids, const nb::object& labels,
            const nb::object& dropped, std::string_view id_name, std::string_view label_name,
            std::string_view id_type);

  HeldTable(const HeldTable&) = delete;
  HeldTable& operator=(const HeldTable&) = delete;

  const TableView& view() const { return view_; }
  // Of an error about a row of the view: names the row by its number before others were dropped.
  RowError in_given_table(const RowError& error) const;

 private:
  // Values, and a NumPy array of bool, true where they are missing, or None.
  ColumnView numbers_view_of(nb::handle values, nb::handle gaps);

  std::vector<Array> columns_;
  std::vector<std::vector<std::uint8_t>> validities_;
  std::vector<nb::object> texts_;
  Ids ids_;
  Numbers dropped_;
  TableView view_;
};

// As _columns.py and _tables.py describe them: (type, unit, time zone); (name, preference, stand-in, number, format);
// (name, role, format).
ColumnFormat format_of(nb::handle format);
std::vector<Attribute> attributes_of(const nb::list& attributes);
std::vector<Field> fields_of(const nb::list& fields);

ColumnView column_view(const Array& array);
std::span<const std::int64_t> ids_view(const Ids& ids);

}  // namespace culmen::python
