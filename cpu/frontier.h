// Frontier: the nodes and leaves that a best-first search has seen but not visited, highest bound first;
// equal bounds by the smallest id below them, so that ties are decided after as few visits as possible.
//
// The heap holds only the best remaining child of each open node; taking it inserts the next. Few of a node's children
// are ever visited, so this saves most of the heap's work.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/simd/kernels.h"
#include "index/snapshot.h"

namespace culmen {

class Frontier {
 public:
  struct Entry {
    double bound;
    std::uint32_t open;   // position of the parent in open_
    std::uint32_t child;  // of the parent
  };

  using Bounds = std::array<double, kFanOut>;  // of the children of a node

  Frontier() {
    open_.reserve(kReserve);
    heap_.reserve(kReserve);
  }

  bool empty() const { return heap_.empty(); }
  const Entry& top() const { return heap_.front(); }
  NodeRef parent(const Entry& entry) const { return open_[entry.open].node; }

  // Children of a node as bits.
  using Children = std::uint32_t;
  static_assert(kFanOut == 8 * sizeof(Children));

  // Calls visit(node, bounds, left) for each node that was ever opened. left: the children not taken yet; only their
  // bounds are valid.
  template <typename Visit>
  void for_each_open(const Visit& visit) const {
    for (const OpenNode& open : open_) visit(open.node, open.bounds, open.left);
  }

  // Inserts the children of `node` that are in `wanted`. A bound of NaN excludes nothing, so it counts as infinity.
  void open(NodeRef node, const Bounds& bounds, Children wanted) {
    OpenNode& open = open_.emplace_back(OpenNode{.node = node, .bounds = bounds, .left = wanted});
    for (double& bound : open.bounds) bound = std::isnan(bound) ? kInfinity : bound;
    for (Children others = ~wanted; others != 0; others &= others - 1)
      open.bounds[static_cast<std::size_t>(std::countr_zero(others))] = -kInfinity;
    if (wanted == 0) return;
    heap_.push_back(best_child(static_cast<std::uint32_t>(open_.size() - 1)));
    sift_up(heap_.size() - 1);
  }

  // Takes the top and all its siblings for which out(child) returns true, called in ascending order. Returns how many
  // returned true.
  template <typename Out>
  std::uint64_t drop_from_top(const Out& out) {
    std::uint64_t count = 0;
    OpenNode& open = open_[top().open];
    for (Children rest = open.left; rest != 0; rest &= rest - 1)
      if (const auto c = static_cast<std::uint32_t>(std::countr_zero(rest)); out(c)) {
        open.take(c);
        ++count;
      }
    take_top();
    return count;
  }

  // Calls visit(entry) for those near the top for which it was not called before. They are not all the next ones.
  template <typename Visit>
  void for_each_new_near_top(const Visit& visit) {
    constexpr std::size_t kNear = 7;  // three levels of the heap
    for (std::size_t i = 0; i < std::min(kNear, heap_.size()); ++i) {
      OpenNode& open = open_[heap_[i].open];
      const Children bit = Children{1} << heap_[i].child;
      if ((open.seen & bit) == 0) visit(heap_[i]);
      open.seen |= bit;
    }
  }

  // Replaces the top by its next best sibling.
  void take_top() {
    const Entry& top = heap_.front();
    OpenNode& open = open_[top.open];
    open.take(top.child);
    if (open.left != 0) return sift_down(best_child(top.open));
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(last);
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  struct OpenNode {
    NodeRef node;
    Bounds bounds;  // -infinity for children that are not left
    Children left;
    Children seen = 0;  // by for_each_new_near_top

    void take(std::uint32_t child) {
      bounds[child] = -kInfinity;
      left &= ~(Children{1} << child);
    }
  };
  static constexpr std::size_t kReserve = 128;

  std::int64_t min_id(const Entry& entry) const { return parent(entry).min_ids()[entry.child]; }

  // Compares ids only if bounds are equal: reading them costs a cache miss.
  bool comes_before(const Entry& a, const Entry& b) const {
    return a.bound != b.bound ? a.bound > b.bound : min_id(a) < min_id(b);
  }

  // At least one child must be left. Its bound may be -infinity, from a caller's monotone function.
  Entry best_child(std::uint32_t open) const {
    double bound;
    std::uint64_t highest = simd::highest_children(open_[open].bounds.data(), bound) & open_[open].left;
    const std::int64_t* min_ids = open_[open].node.min_ids();
    int best = std::countr_zero(highest);
    while ((highest &= highest - 1) != 0)
      if (const int c = std::countr_zero(highest); min_ids[c] < min_ids[best]) best = c;
    return {bound, open, static_cast<std::uint32_t>(best)};
  }

  void sift_up(std::size_t hole) {
    const Entry entry = heap_[hole];
    for (; hole > 0 && comes_before(entry, heap_[(hole - 1) / 2]); hole = (hole - 1) / 2)
      heap_[hole] = heap_[(hole - 1) / 2];
    heap_[hole] = entry;
  }

  void sift_down(const Entry& entry) {
    const std::size_t size = heap_.size();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size && comes_before(heap_[child + 1], heap_[child])) ++child;
      if (comes_before(entry, heap_[child])) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = entry;
  }

  std::vector<OpenNode> open_;
  std::vector<Entry> heap_;
};

}  // namespace culmen
