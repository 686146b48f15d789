#include "index/thresholds.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>

#include "index/read_session.h"
#include "index/snapshot.h"

namespace culmen {

Thresholds::Thresholds(const Snapshot& s)
    : num_attributes_(s.attributes.size()),
      values_(s.order().leaves.size() * 2 * s.leaf_shape().zone_vector_bytes()),
      min_ids_(s.order().leaves.size()) {
  tbb::parallel_for(std::size_t{0}, s.order().partitions.size(), [&](std::size_t partition) {
    visit_value_type(s, [&]<typename T>(T) { compute<T>(s, partition); });
  });
}

// From the last leaf to the first.
template <typename T>
void Thresholds::compute(const Snapshot& s, std::size_t partition) {
  const PartitionRange range = s.order().partitions[partition];
  const std::size_t d = num_attributes_;
  std::vector<T> extremes(2 * d, -std::numeric_limits<T>::infinity());
  std::fill(extremes.begin() + static_cast<std::ptrdiff_t>(d), extremes.end(),
            std::numeric_limits<T>::infinity());
  std::int64_t min_id = kNoId;
  ReadSession session(s);
  for (std::size_t position = range.first_leaf + std::size_t{range.num_leaves};
       position-- > range.first_leaf;) {
    session.rest();
    std::copy(extremes.begin(), extremes.end(), reinterpret_cast<T*>(values_.data()) + 2 * d * position);
    min_ids_[position] = min_id;
    const std::uint32_t leaf = s.order().leaves[position];
    const T* highest = s.zone_vector<T>(leaf, Extreme::maximum);
    const T* lowest = s.zone_vector<T>(leaf, Extreme::minimum);
    for (std::size_t i = 0; i < d; ++i) {
      extremes[i] = std::max(extremes[i], highest[i]);
      extremes[d + i] = std::min(extremes[d + i], lowest[i]);
    }
    min_id = std::min(min_id, s.leaf(leaf).min_id);
  }
}

}  // namespace culmen
