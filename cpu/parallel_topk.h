// Private top-k collections, one per thread, merged at the end: shared by the engines that run on several threads.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <atomic>
#include <cstddef>
#include <limits>
#include <vector>

#include "cpu/leaf_filter.h"
#include "cpu/topk.h"
#include "query/resolved_query.h"

namespace culmen {

// The leaves of one task: about a megabyte, long enough to stream and short enough to balance. Fewer leaves do not
// justify waking a second thread.
inline constexpr std::size_t kLeavesPerTask = 256;

// The highest k-th score bound of all threads: k rows of one thread reach it.
class SharedKthBound {
 public:
  double score() const { return score_.load(std::memory_order_relaxed); }
  void raise(double score) {
    double before = this->score();
    while (score > before && !score_.compare_exchange_weak(before, score, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<double> score_ = -std::numeric_limits<double>::infinity();
};

// Best: TopK or BufferedTopK.
template <typename Best>
struct PrivateSearch {
  Best best;
  LeafFilter filter;
  SharedKthBound& kth_bound_of_all;
  SearchStats stats;

  // Adopts the highest bound of all threads and publishes this one's.
  void share_kth_bound() {
    best.raise_kth_bound(kth_bound_of_all.score());
    kth_bound_of_all.raise(best.kth_bound());
  }
};

template <typename Best>
class ParallelTopK {
 public:
  explicit ParallelTopK(const ResolvedQuery& query)
      : query_(query), searches_([&query, this] {
          return PrivateSearch<Best>{
              Best(query.k, query.min_score), LeafFilter(query.filter), kth_bound_, {}};
        }) {}

  // The calling thread's search.
  PrivateSearch<Best>& local() { return searches_.local(); }

  // Merges the k best hits of all threads, best first, and adds their counters to `stats`. Call it once.
  std::vector<Hit> merge(SearchStats& stats) {
    Best best(query_.k, query_.min_score);
    for (PrivateSearch<Best>& search : searches_) {
      stats += search.stats;
      stats.replacements += search.best.num_replacements();
      best.add(search.best);
    }
    return best.take_sorted();
  }

 private:
  const ResolvedQuery& query_;
  SharedKthBound kth_bound_;
  tbb::enumerable_thread_specific<PrivateSearch<Best>> searches_;
};

}  // namespace culmen
