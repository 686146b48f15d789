// Eigen matrices and maps as tables. Needs Eigen 3; the rest of culmen's public headers do not.
#pragma once

#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "culmen/table.h"

namespace culmen {

// Views a matrix, map or block [num_rows, num_attributes] of float, double, int32 or int64 as a table, in either
// storage order and without a copy. `matrix` must outlive the view; attributes.size() must equal matrix.cols().
template <typename Derived>
TableView matrix_table(const Eigen::DenseBase<Derived>& matrix, std::vector<Attribute> attributes) {
  static_assert((Derived::Flags & Eigen::DirectAccessBit) != 0,
                "an expression has no memory to view: evaluate it first");
  const Derived& values = matrix.derived();
  TableView table;
  table.num_rows = static_cast<std::size_t>(values.rows());
  table.attributes = std::move(attributes);
  for (Eigen::Index i = 0; i < values.cols(); ++i)
    table.columns.emplace_back(values.data() + i * values.colStride(), table.num_rows,
                               static_cast<std::ptrdiff_t>(values.rowStride()));
  return table;
}

}  // namespace culmen
