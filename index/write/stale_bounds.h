// StaleBounds: a cheap test whether erased rows have left the bounds of a leaf loose.
//
// Most rows of a leaf are the extreme of some subset of attributes, so computing all bounds after each erase would cost
// several times as much as the erase. The test checks one subset per group and end: the attributes in which the row was
// near that end of the leaf's range.
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

  // `erased`: rows of the leaf in slot `before`. The leaf after the batch is in `slot`, and its bounds are those of
  // `child` in `node`. Returns true if they should be computed again.
  bool are_stale(NodeRef node, std::uint32_t child, std::uint32_t slot, std::uint32_t before,
                 std::span<const PageOperation> erased);

 private:
  // A subset of a group's attributes (bit i of the mask: the i-th one), and its sums.
  struct Subset {
    int group;
    unsigned mask;
    Extreme extreme;
    double sum, range;  // of the row, and of the leaf's box; in bound units
  };
  // `row` is one of the leaf in `before`; the range is that of the leaf in `slot`.
  template <typename T>
  Subset farthest_out(int group, std::uint32_t slot, std::uint32_t before, std::uint32_t row,
                      Extreme extreme) const;
  template <typename T>
  bool is_loose(const Subset& subset, NodeRef node, std::uint32_t child, std::uint32_t slot);

  const Snapshot& snapshot_;
  std::vector<double> sums_;  // of each row of a leaf
};

}  // namespace culmen
