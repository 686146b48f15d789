// StaleBounds: finds out, at little cost, whether erased rows have left the bounds of a leaf loose.
//
// Most rows of a leaf are the extreme of some subset of attributes, so to compute all bounds for each erased row would
// cost several times what erasing it does. What is looked at instead is the one subset of each group in which the row
// was likely to lie farthest out: the attributes in which it was near the end of the leaf's range.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/snapshot.h"
#include "index/write/located_change.h"

namespace culmen {

// One per thread.
class StaleBounds {
 public:
  explicit StaleBounds(const Snapshot& snapshot)
      : snapshot_(snapshot), sums_(static_cast<std::size_t>(snapshot.leaf_rows)) {}

  // `erased`: rows of the leaf in `before`. Without them, and with rows that were inserted meanwhile, the leaf is in
  // `slot`, the child of `node` in this position. Returns true if its bounds had better be computed again.
  bool are_stale(NodeRef node, std::uint32_t child, std::uint32_t slot, std::uint32_t before,
                 std::span<const PageOperation> erased);

 private:
  // Sums of some of a group's attributes; bit i: the i-th of them.
  struct Subset {
    int group;
    unsigned mask;
    Extreme extreme;
    double sum, range;  // of the row, and of the leaf's box; in bound units
  };
  // A row of the leaf in `before`, as seen from the leaf in `slot`.
  template <typename T>
  Subset farthest_out(int group, std::uint32_t slot, std::uint32_t before, std::uint32_t row,
                      Extreme extreme) const;
  template <typename T>
  bool is_loose(const Subset& subset, NodeRef node, std::uint32_t child, std::uint32_t slot);

  const Snapshot& snapshot_;
  std::vector<double> sums_;  // of each row of a leaf
};

}  // namespace culmen
