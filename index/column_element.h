// Access to the elements of a caller's column, whose type is known only at run time.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "culmen/table.h"

namespace culmen {

template <typename T>
const T& column_element(const ColumnView& column, std::uint64_t row) {
  return *reinterpret_cast<const T*>(column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes);
}

template <typename T>
bool is_missing_element(const ColumnView& column, std::uint64_t row, T value) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(value)) return true;
  return column.validity.is_missing(row);
}

// Calls f with a value of the element type.
template <typename F>
decltype(auto) visit_element_type(const ColumnView& column, F&& f) {
  switch (column.type) {
    case ElementType::float32:
      return f(float{});
    case ElementType::float64:
      return f(double{});
    case ElementType::int32:
      return f(std::int32_t{});
    case ElementType::int64:
      break;
  }
  return f(std::int64_t{});
}

}  // namespace culmen
