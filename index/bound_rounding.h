// bound_above() and bound_below() of many sums at once.
#pragma once

#include <cstddef>

namespace culmen {

// upper[i] = bound_above(maxima[i] + errors[i]), lower[i] = bound_below(minima[i] - errors[i]), for i < count.
void round_bounds(const double* maxima, const double* minima, const double* errors, std::size_t count,
                  float* upper, float* lower);

}  // namespace culmen
