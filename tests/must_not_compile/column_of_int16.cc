// A column has one of four element types; others are not converted behind the caller's back.
#include <cstdint>

#include "culmen/table.h"

culmen::ColumnView column(const std::int16_t* values) {
  return culmen::ColumnView(values, 1);
}
