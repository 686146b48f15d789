// BufferedTopK: the k best hits for a large k. A large heap costs a cache miss per level for each hit that enters; this
// class buffers up to 2 k hits, then selects the best k.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/sort_hits.h"
#include "cpu/topk.h"

namespace culmen {

// As TopK, except that the k-th score bound rises only at each selection.
class BufferedTopK {
 public:
  // From this k on it is no slower than a heap, and much faster if most rows enter, as in ascending order of score.
  static constexpr std::size_t kWorthIt = 1024;

  // Does not reserve room for k: with a min_score, k may be the number of all rows while few of them enter.
  BufferedTopK(std::size_t k, double min_score) : k_(k), min_score_(min_score) {}

  double kth_bound() const { return worst_ ? std::max(worst_->score, min_score_) : min_score_; }
  void raise_kth_bound(double score) { min_score_ = std::max(min_score_, score); }
  bool excludes(double bound, std::int64_t min_id) const {
    return bound < kth_bound() || (worst_ && bound == worst_->score && min_id >= worst_->id);
  }
  std::uint64_t num_replacements() const { return num_replacements_; }

  void offer(const Hit& hit) {
    if (worst_ ? !ranks_before(hit, *worst_) : hit.score < min_score_) return;
    hits_.push_back(hit);
    if (hits_.size() >= 2 * k_) select();
  }

  // Moves in all hits of `other`.
  void add(BufferedTopK& other) { others_.push_back(std::move(other.hits_)); }

  // Empties the buffer and returns the k best hits, best first. Uses all threads of the caller's arena.
  std::vector<Hit> take_sorted() {
    others_.push_back(std::move(hits_));
    const std::size_t size = num_hits_in(others_);
    num_replacements_ += size - std::min(size, k_);
    return take_best(std::move(others_), k_);
  }

 private:
  void select() {
    select_hits(hits_, k_);
    worst_ = hits_[k_ - 1];
    num_replacements_ += hits_.size() - k_;
    hits_.resize(k_);
  }

  std::size_t k_;
  double min_score_;
  std::optional<Hit> worst_;  // the k-th best at the last selection
  std::uint64_t num_replacements_ = 0;
  std::vector<Hit> hits_;
  std::vector<std::vector<Hit>> others_;  // of other threads
};

}  // namespace culmen
