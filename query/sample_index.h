// An index over random values, the same each time: what calibration and query/pace.h search.
#pragma once

#include <cstddef>

#include "culmen/index.h"

namespace culmen {

enum class SampleValues { independent, all_equal };

Index sample_index(std::size_t num_rows, int dims, SampleValues values = SampleValues::independent);

}  // namespace culmen
