// A random sample of an index's rows, to show how values are distributed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "culmen/index.h"

namespace culmen {

// `count` rows of the current version, each drawn from all rows with the same chance, so that a row may be drawn twice;
// none if the index is empty. The same seed draws the same rows of a version. Cost: that of reading the rows, and the
// first time of a version that of a walk over its nodes; an index that is loaded on touch is read whole.
[[nodiscard]] std::vector<Row> sample_rows(const Index& index, std::size_t count, std::uint64_t seed = 1);

}  // namespace culmen
