// BufferedTopK: the k best hits for a large k. A heap of so many costs a cache miss a level for each hit that enters;
// this one collects hits until there are twice k, and then selects.
#pragma once

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/topk.h"

namespace culmen {

// As TopK, but that the floor rises only now and then.
class BufferedTopK {
 public:
  // From this k on it is faster than a heap (bench/cliffs).
  static constexpr std::size_t kWorthIt = 8192;

  // Without room for k in advance: where there is a smallest score, k may be all rows and few of them come.
  BufferedTopK(std::size_t k, double min_score) : k_(k), min_score_(min_score) {}

  double floor() const { return worst_ ? worst_->score : min_score_; }
  bool excludes(double bound, std::int64_t min_id) const {
    return bound < floor() || (worst_ && bound == floor() && min_id >= worst_->id);
  }
  std::uint64_t num_replacements() const { return num_replacements_; }

  void offer(const Hit& hit) {
    if (worst_ ? !ranks_before(hit, *worst_) : hit.score < min_score_) return;
    hits_.push_back(hit);
    if (hits_.size() >= 2 * k_) select();
  }

  // Takes over what another has.
  void add(BufferedTopK& other) {
    if (hits_.empty()) std::swap(hits_, other.hits_);
    hits_.insert(hits_.end(), other.hits_.begin(), other.hits_.end());
    other.hits_ = {};
  }

  // Empties the buffer: best first. By all threads of the arena that it is called in.
  std::vector<Hit> take_sorted() {
    if (hits_.size() > k_) select();
    tbb::parallel_sort(hits_.begin(), hits_.end(), ranks_before);
    return std::move(hits_);
  }

 private:
  void select() {
    const auto last = hits_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(hits_.begin(), last, hits_.end(), ranks_before);
    worst_ = *last;
    num_replacements_ += hits_.size() - k_;
    hits_.resize(k_);
  }

  std::size_t k_;
  double min_score_;
  std::optional<Hit> worst_;  // the k-th best when there was last a selection
  std::uint64_t num_replacements_ = 0;
  std::vector<Hit> hits_;
};

}  // namespace culmen
