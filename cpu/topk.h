// TopK: the k best hits so far, a heap with the worst hit on top once there are k.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"

namespace culmen {

// The order of answers: higher score first, equal scores by smaller id. Branch-free, because the branch would be
// unpredictable; an object, because sorts would call a function through a pointer.
inline constexpr auto ranks_before = [](const Hit& a, const Hit& b) {
  return static_cast<bool>(static_cast<int>(a.score > b.score) |
                           (static_cast<int>(a.score == b.score) & static_cast<int>(a.id < b.id)));
};

class TopK {
 public:
  // k >= 1. Hits below min_score never enter.
  TopK(std::size_t k, double min_score) : k_(k), min_score_(min_score) {
    heap_.reserve(std::min(k, kReserve));
  }

  bool full() const { return heap_.size() == k_; }
  std::size_t size() const { return heap_.size(); }
  std::uint64_t num_replacements() const { return num_replacements_; }
  // The score below which no hit can enter: the k-th best so far, or min_score if that is higher.
  double kth_bound() const { return full() ? std::max(heap_.front().score, min_score_) : min_score_; }
  // For a caller that knows k rows elsewhere that reach `score`.
  void raise_kth_bound(double score) { min_score_ = std::max(min_score_, score); }

  // Returns true if no hit with a score of at most `bound` and an id of at least `min_id` can enter. False for NaN.
  bool excludes(double bound, std::int64_t min_id) const {
    return bound < kth_bound() || (full() && bound == heap_.front().score && min_id >= heap_.front().id);
  }

  void offer(const Hit& hit) {
    if (!full()) {
      if (hit.score < min_score_) return;
      heap_.push_back(hit);
      if (full()) std::make_heap(heap_.begin(), heap_.end(), ranks_before);
    } else if (ranks_before(hit, heap_.front())) {
      replace_worst(hit);
    }
  }

  // Offers all hits of `other`.
  void add(const TopK& other) {
    for (const Hit& hit : other.heap_) offer(hit);
  }

  // Empties the heap: best first.
  std::vector<Hit> take_sorted() {
    std::sort(heap_.begin(), heap_.end(), ranks_before);
    return std::move(heap_);
  }
  const std::vector<Hit>& hits() const { return heap_; }

 private:
  static constexpr std::size_t kReserve = 1024;

  // Moves the hole at the top down to a leaf, then `hit` up from there: a hit that just enters belongs near the leaves,
  // and moving the hole down needs no comparison with it, hence no branch.
  void replace_worst(const Hit& hit) {
    ++num_replacements_;
    const std::size_t size = heap_.size();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size) child += ranks_before(heap_[child], heap_[child + 1]) ? 1 : 0;
      heap_[hole] = heap_[child];
      hole = child;
    }
    for (; hole > 0 && ranks_before(heap_[(hole - 1) / 2], hit); hole = (hole - 1) / 2)
      heap_[hole] = heap_[(hole - 1) / 2];
    heap_[hole] = hit;
  }

  std::size_t k_;
  double min_score_;
  std::uint64_t num_replacements_ = 0;
  std::vector<Hit> heap_;
};

}  // namespace culmen
