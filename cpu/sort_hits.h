// Selects the k best of many hits, in order. Hits are first distributed over buckets by score, a few to a bucket, and
// then sorted within buckets: for millions of hits this takes half the time of a selection and a comparison sort.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cpu/topk.h"

namespace culmen {

// Moves the k best hits to the front, the k-th best to position k - 1; otherwise in no order. 1 <= k <= hits.size().
inline void select_hits(std::vector<Hit>& hits, std::size_t k) {
  std::nth_element(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(k) - 1, hits.end(), ranks_before);
}

inline std::size_t num_hits_in(const std::vector<std::vector<Hit>>& parts) {
  std::size_t count = 0;
  for (const std::vector<Hit>& part : parts) count += part.size();
  return count;
}

// Distributes hits over buckets of equal width in score, best first. Each part of the hits is one task.
class ScoreBuckets {
 public:
  explicit ScoreBuckets(const std::vector<std::vector<Hit>>& parts) : parts_(parts), begins_(parts.size()) {
    const std::size_t num_hits = num_hits_in(parts);
    size_ = std::clamp<std::size_t>(num_hits / kHitsEach, 1, kMaxBuckets);
    measure();
    if (!is_usable_) return;
    for_each_part([&](std::size_t p) {
      begins_[p].resize(size_);
      for (const Hit& hit : parts_[p]) ++begins_[p][bucket_of(hit)];
    });
    add_up(num_hits);
  }

  // False if buckets would not pay: one would hold more than a quarter of the hits, as with outliers, or all scores are
  // equal.
  bool is_usable() const { return is_usable_; }

  // Returns the k best hits, in order; there must be at least k. Uses all threads of the caller's arena. Call it at
  // most once: it uses up begins_.
  std::vector<Hit> take_best(std::size_t k) {
    // Buckets up to the one that holds the k-th best.
    const auto end = std::ranges::lower_bound(ends_, k);
    const auto count = static_cast<std::size_t>(end - ends_.begin()) + 1;
    std::vector<Hit> sorted(*end);
    for_each_part([&](std::size_t p) {
      for (const Hit& hit : parts_[p])
        if (const std::size_t bucket = bucket_of(hit); bucket < count) sorted[begins_[p][bucket]++] = hit;
    });
    constexpr std::size_t kSortedAtOnce = 1 << 10;
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, kSortedAtOnce),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        for (std::size_t b = range.begin(); b < range.end(); ++b)
                          std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(b == 0 ? 0 : ends_[b - 1]),
                                    sorted.begin() + static_cast<std::ptrdiff_t>(ends_[b]), ranks_before);
                      });
    sorted.resize(k);
    return sorted;
  }

 private:
  static constexpr std::size_t kHitsEach = 16;         // per bucket, on average
  static constexpr std::size_t kMaxBuckets = 1 << 18;  // each part counts in a table of them: at most 2 MiB

  template <typename F>
  void for_each_part(const F& f) const {
    tbb::parallel_for(std::size_t{0}, parts_.size(), f);
  }

  // Finds the range of the scores, and from it the width of a bucket.
  void measure() {
    double lowest = std::numeric_limits<double>::infinity();
    highest_ = -lowest;
    for (const std::vector<Hit>& part : parts_)
      for (const Hit& hit : part) {
        lowest = std::min(lowest, hit.score);
        highest_ = std::max(highest_, hit.score);
      }
    per_score_ = (static_cast<double>(size_) - 1) / (highest_ - lowest);
    is_usable_ = std::isfinite(highest_ - lowest) && std::isfinite(per_score_);
  }

  // Turns counts into the positions where each part's hits of a bucket begin.
  void add_up(std::size_t num_hits) {
    ends_.resize(size_);
    std::size_t end = 0, largest = 0;
    for (std::size_t b = 0; b < size_; ++b) {
      const std::size_t begin = end;
      for (std::vector<std::size_t>& begins : begins_) {
        end += std::exchange(begins[b], end);
      }
      ends_[b] = end;
      largest = std::max(largest, end - begin);
    }
    is_usable_ = largest <= num_hits / 4;
  }

  // A better score never gets a later bucket, even after rounding.
  std::size_t bucket_of(const Hit& hit) const {
    return static_cast<std::size_t>((highest_ - hit.score) * per_score_);
  }

  const std::vector<std::vector<Hit>>& parts_;
  std::size_t size_ = 0;
  double highest_ = 0, per_score_ = 0;
  bool is_usable_ = false;
  std::vector<std::vector<std::size_t>> begins_;  // [parts][size_]
  std::vector<std::size_t> ends_;                 // [size_]
};

// Returns the k best hits, or all if there are fewer, in order.
inline std::vector<Hit> take_best(std::vector<std::vector<Hit>> parts, std::size_t k) {
  constexpr std::size_t kWorthSpreading = 1 << 16;
  const std::size_t num_hits = num_hits_in(parts);
  if (num_hits >= kWorthSpreading)
    if (ScoreBuckets buckets(parts); buckets.is_usable()) return buckets.take_best(std::min(k, num_hits));
  std::vector<Hit> hits;
  for (std::vector<Hit>& part : parts) {
    if (hits.empty()) std::swap(hits, part);
    hits.insert(hits.end(), part.begin(), part.end());
    part = {};
  }
  if (k < hits.size()) select_hits(hits, k);
  hits.resize(std::min(k, hits.size()));
  tbb::parallel_sort(hits.begin(), hits.end(), ranks_before);
  return hits;
}

}  // namespace culmen
