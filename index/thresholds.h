// Thresholds: per leaf of a version, the extremes of all later leaves of its partition. `gta` stops by them: the maxima
// are the paper's threshold tuple (GTA 2019, equation 3).
//
// They are computed for a whole version on first use, and never stored: an inserted or erased row would change them in
// all leaves before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culmen {

struct Snapshot;

class Thresholds {
 public:
  // Cost: one pass over the zone maps of all leaves, by all threads.
  explicit Thresholds(const Snapshot& snapshot);

  // [num_attributes] of the stored type; `position` is that of the leaf in TreeOrder::leaves. -inf (minima: +inf) for
  // the last leaf of a partition.
  template <typename T>
  const T* maximum(std::size_t position) const {
    return reinterpret_cast<const T*>(values_.data()) + 2 * num_attributes_ * position;
  }
  template <typename T>
  const T* minimum(std::size_t position) const {
    return maximum<T>(position) + num_attributes_;
  }
  // The smallest id in the later leaves; kNoId for the last leaf.
  std::int64_t min_id(std::size_t position) const { return min_ids_[position]; }

  std::span<const std::byte> values() const { return values_; }  // [leaves][2][num_attributes]
  std::span<const std::int64_t> min_ids() const { return min_ids_; }

 private:
  template <typename T>
  void compute(const Snapshot& snapshot, std::size_t partition);

  std::size_t num_attributes_;
  std::vector<std::byte> values_;
  std::vector<std::int64_t> min_ids_;
};

}  // namespace culmen
