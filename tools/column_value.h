// One value of a table's column, whatever its element type; NaN if it is missing.
#pragma once

#include <cstring>
#include <limits>

#include "culmen/table.h"

namespace culmen::tools {

inline double column_value(const ColumnView& column, std::size_t row) {
  if (column.validity.is_missing(row)) return std::numeric_limits<double>::quiet_NaN();
  const std::byte* value = column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes;
  const auto read = [value]<typename T>(T element) {
    std::memcpy(&element, value, sizeof(T));
    return static_cast<double>(element);
  };
  switch (column.type) {
    case ElementType::float32:
      return read(float{});
    case ElementType::float64:
      return read(double{});
    case ElementType::int32:
      return read(std::int32_t{});
    case ElementType::int64:
      return read(std::int64_t{});
  }
  return 0;
}

}  // namespace culmen::tools
