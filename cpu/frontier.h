// Frontier: the nodes and leaves that a best-first search has seen but not visited, highest bound first;
// equal bounds by the smallest id below them, so that ties are decided after as few visits as possible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace culmen {

struct FrontierEntry {
  double bound;
  std::int64_t min_id;
  std::uint32_t slot;   // leaf or node
  std::uint32_t level;  // 0: leaf
};

class Frontier {
 public:
  Frontier() { heap_.reserve(1024); }

  bool empty() const { return heap_.empty(); }
  const FrontierEntry& top() const { return heap_.front(); }

  void push(FrontierEntry entry) {
    if (std::isnan(entry.bound))
      entry.bound = std::numeric_limits<double>::infinity();  // unknown: must be visited
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), comes_later);
  }

  FrontierEntry pop() {
    std::pop_heap(heap_.begin(), heap_.end(), comes_later);
    const FrontierEntry entry = heap_.back();
    heap_.pop_back();
    return entry;
  }

 private:
  static bool comes_later(const FrontierEntry& a, const FrontierEntry& b) {
    return a.bound != b.bound ? a.bound < b.bound : a.min_id > b.min_id;
  }

  std::vector<FrontierEntry> heap_;
};

}  // namespace culmen
