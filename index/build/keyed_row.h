// A row of a table and its order key.
#pragma once

#include <cstdint>

#include "index/order_key.h"

namespace culmen {

struct KeyedRow {
  OrderKey key;
  std::uint64_t row;
};

}  // namespace culmen
