// Partitioner::order_of for many rows at a time, attribute by attribute, so that compilers vectorize it. The operations
// and their order are the same for each row, so the bits are as well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/assert.h"
#include "index/partitioner.h"

namespace culmen {

inline constexpr std::size_t kOrdersAtOnce = 128;

template <typename T>
void lengths_of_rows(const Partitioner& partitioner, const T* values, std::size_t stride,
                     std::span<double> out) {
  std::ranges::fill(out, 0.0);
  for (std::size_t i = 0; i < partitioner.minimum().size(); ++i)
    for (std::size_t r = 0; r < out.size(); ++r)
      out[r] += partitioner.square_in_length(static_cast<double>(values[i * stride + r]), i);
  for (double& length : out) length = partitioner.length_of(length);
}

// For out.size() <= kOrdersAtOnce rows. Attribute i of row r is values[i * stride + r].
template <typename T>
void orders_of_rows(const Partitioner& partitioner, const T* values, std::size_t stride,
                    std::span<OrderKey> out) {
  CULMEN_ASSERT(out.size() <= kOrdersAtOnce);
  const std::size_t num_attributes = partitioner.minimum().size();
  const bool is_by_sum = partitioner.row_order() == RowOrder::sum;
  double first[kOrdersAtOnce] = {}, sum[kOrdersAtOnce] = {};
  for (std::size_t i = 0; i < num_attributes; ++i) {
    const T* column = values + i * stride;
    const double minimum = partitioner.minimum()[i], inverse = partitioner.inverse()[i];
    for (std::size_t r = 0; r < out.size(); ++r) {
      const double x = scaled_value(static_cast<double>(column[r]), minimum, inverse);
      first[r] = is_by_sum ? first[r] + x : std::max(first[r], x);
      sum[r] += cut_off_at_one(x);
    }
  }
  const auto width = static_cast<double>(num_attributes);
  if (is_by_sum)
    for (std::size_t r = 0; r < out.size(); ++r) first[r] = mean_in_order(first[r], width);
  if (partitioner.is_wide()) lengths_of_rows(partitioner, values, stride, {first, out.size()});
  for (std::size_t r = 0; r < out.size(); ++r) out[r] = pack_order(first[r], sum[r] / width);
}

}  // namespace culmen
