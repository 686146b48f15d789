// How high a tree can be: what a manifest may say, and what arrays with a place for each level need.
//
// A bulk load fills nodes but for the last of each level. The writer (index/write/node_balancer.h) keeps a
// quarter of the fan-out in each node, but for such last ones and for what may stand alone under them: at
// most one node for each level above, on a level below the first root. So of 2^32 leaves a bulk load makes
// kMaxLoadedLevels, and a tree that has grown higher than those has 8 children or more in nearly every node:
// 3.9 million leaves for 8 levels where the powers below ask for 8^7, and eight times as many for each
// further one.
#pragma once

#include <cstdint>

#include "index/node_layout.h"

namespace culmen {

inline constexpr int kMaxLoadedLevels = 7;
inline constexpr std::uint64_t kFewestChildren = kFanOut / 4;
static_assert(std::uint64_t{1} << 35 ==
                  std::uint64_t{kFanOut} * kFanOut * kFanOut * kFanOut * kFanOut * kFanOut * kFanOut,
              "seven levels hold 2^32 leaves, six do not");

// Levels of inner nodes that a tree of so many leaves has at most.
constexpr int most_levels(std::uint64_t num_leaves) {
  if (num_leaves == 0) return 0;
  int levels = 1;
  for (std::uint64_t left = num_leaves; left >= kFewestChildren; left /= kFewestChildren) ++levels;
  return levels > kMaxLoadedLevels ? levels : kMaxLoadedLevels;
}

// No tree has more: leaves have numbers of 32 bits.
inline constexpr int kMaxLevels = most_levels(std::uint64_t{1} << 32);
static_assert(kMaxLevels == 11);

}  // namespace culmen
