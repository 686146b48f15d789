// Visits rows leaf by leaf: with a limit of memory a leaf that is visited again may have to be read and decoded again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "index/logged_rows.h"
#include "index/read_session.h"

namespace culmen {

// Calls use(i, place) for each of the places, which are in leaves of their trees. What it reads of a leaf is read once.
template <typename Use>
void for_rows_by_leaf(std::span<const RowPlace> places, const Use& use) {
  const auto leaf_of = [&](std::size_t i) {
    const Snapshot& tree = places[i].tree;
    return std::pair(&tree, places[i].row / static_cast<std::uint64_t>(tree.leaf_rows));
  };
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (std::ranges::any_of(places, [](const RowPlace& place) { return place.tree.has_memory_limit(); }))
    std::ranges::stable_sort(order, {}, leaf_of);
  for (std::size_t n = 0; n < order.size();) {
    const auto here = leaf_of(order[n]);
    const ReadSession session(*here.first);
    static_cast<void>(here.first->leaf(here.second));  // it keeps the leaf: one within it does not for longer
    for (; n < order.size() && leaf_of(order[n]) == here; ++n) use(order[n], places[order[n]]);
  }
}

}  // namespace culmen
