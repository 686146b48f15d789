// The most levels that a tree can have: limits manifests, and sizes arrays with an element per level.
//
// A bulk load fills all nodes but the last of each level, so 2^32 leaves take kMaxLoadedLevels. The writer
// (index/write/node_balancer.h) keeps at least a quarter of the fan-out in each node, except in those last ones and in the
// few that stay alone below them: at most one per higher level. So a tree that has grown beyond kMaxLoadedLevels has 8
// children or more in nearly every node. It has at least 3.9 million leaves at 8 levels, where most_levels() asks for
// 8^7, and eight times as many per further level.
#pragma once

#include <cstdint>

#include "index/node_layout.h"

namespace culmen {

inline constexpr int kMaxLoadedLevels = 7;
inline constexpr std::uint64_t kFewestChildren = kFanOut / 4;
static_assert(std::uint64_t{1} << 35 ==
                  std::uint64_t{kFanOut} * kFanOut * kFanOut * kFanOut * kFanOut * kFanOut * kFanOut,
              "seven levels hold 2^32 leaves, six do not");

// The most levels of inner nodes that a tree of num_leaves leaves can have.
constexpr int most_levels(std::uint64_t num_leaves) {
  if (num_leaves == 0) return 0;
  int levels = 1;
  for (std::uint64_t left = num_leaves; left >= kFewestChildren; left /= kFewestChildren) ++levels;
  return levels > kMaxLoadedLevels ? levels : kMaxLoadedLevels;
}

// Of any tree: leaf numbers have 32 bits.
inline constexpr int kMaxLevels = most_levels(std::uint64_t{1} << 32);
static_assert(kMaxLevels == 11);

}  // namespace culmen
