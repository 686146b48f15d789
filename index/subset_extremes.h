// Maxima and minima of all subset sums of up to 8 attributes over the rows of a leaf: the inner loop of bulk loads.
#pragma once

#include <cstddef>

namespace culmen {

// values[i * stride + r]: attribute i < num_attributes <= 8 of row r < num_rows, num_rows >= 1.
// maxima[mask], 0 < mask < 2^num_attributes: the largest computed sum over the attributes in `mask`, and minima[mask]
// the smallest; entry 0 is scratch.
void subset_extremes(const double* values, std::size_t stride, int num_rows, int num_attributes,
                     double* maxima, double* minima);

}  // namespace culmen
