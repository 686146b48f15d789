// A plain read of a table's columns, with which every figure is compared.
#pragma once

#include <cstddef>

#include "bench/gpu/questions.h"
#include "culmen/device.h"

namespace culmen::bench {

struct Reading {
  double column_bytes = 0;
  double bytes_per_us = 0;

  // Microseconds to read each column with a weight once.
  double us(const Weights& weights) const;
};

// Of rows on the card: by a copy on the card, which reads as much as it writes. Of rows in host memory: by a copy over
// the bus. For tables of float32.
Reading measure_reading(DeviceMemory memory, std::size_t num_rows, int dims);

}  // namespace culmen::bench
