// Merges the answers of parts of an index, each best first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace culmen::gpu {

// Calls take(list, rank) for the `most` best of all hits, or for all if there are fewer, best first: by score, of equal
// ones the smaller id first. score(list, rank) and id(list, rank) are those of a hit, sizes has the number in each list.
// Cost: most * lists. next: [lists], scratch.
void merge_hits(std::span<const std::size_t> sizes, std::size_t most, std::span<std::size_t> next,
                const auto& score, const auto& id, const auto& take) {
  for (std::size_t& rank : next) rank = 0;
  for (; most > 0; --most) {
    std::size_t best = sizes.size();
    for (std::size_t list = 0; list < sizes.size(); ++list) {
      if (next[list] == sizes[list]) continue;
      if (best != sizes.size()) {
        const double here = score(list, next[list]), there = score(best, next[best]);
        if (here < there || (here == there && id(list, next[list]) > id(best, next[best]))) continue;
      }
      best = list;
    }
    if (best == sizes.size()) return;
    take(best, next[best]++);
  }
}

}  // namespace culmen::gpu
