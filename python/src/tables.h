// Tables as culmen/_tables.py hands them over: NumPy columns of one dimension, of an element type that culmen
// reads, in memory of the host.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <vector>

#include "culmen/error.h"
#include "culmen/table.h"

namespace culmen::python {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
using Ids = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Keeps what the view points into.
class HeldTable {
 public:
  // names and columns: a list each; preferences: "high" or "low" each; ids, labels and the numbers of dropped
  // rows: None where there are none. Throws InvalidArgument for what _tables.py should not have let through.
  HeldTable(std::size_t num_rows, const nb::list& names, const nb::list& preferences, const nb::list& columns,
            const nb::object& ids, const nb::object& labels, const nb::object& dropped);

  HeldTable(const HeldTable&) = delete;
  HeldTable& operator=(const HeldTable&) = delete;

  const TableView& view() const { return view_; }
  // Of an error about a row of the view: names the row by its number before others were dropped.
  RowError in_given_table(const RowError& error) const;

 private:
  std::vector<Array> columns_;
  Ids ids_;
  Numbers dropped_;
  Labels labels_;
  TableView view_;
};

ColumnView column_view(const Array& array);
std::span<const std::int64_t> ids_view(const Ids& ids);

}  // namespace culmen::python
