// A pass over all rows of a copy on the card, by the decoder of the engines.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/mirror/mirror_version.h"

namespace culmen::bench {

struct DecodePass {
  std::vector<double> times_us;  // on the card
  std::uint64_t num_rows = 0;    // that score at least so much
};

// weights: one for each attribute.
DecodePass pass_over_rows(const gpu::MirrorView& view, std::span<const double> weights, double least,
                          int repeats);

}  // namespace culmen::bench
