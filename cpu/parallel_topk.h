// Private heaps, merged at the end: what scan and gta share when they run on several threads.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <cstddef>
#include <vector>

#include "cpu/topk.h"
#include "query/resolved_query.h"

namespace culmen {

// What a thread takes at once: about a megabyte, long enough to stream, short enough to share out. Fewer
// leaves are not worth waking a second thread for.
inline constexpr std::size_t kLeavesPerTask = 256;

struct PrivateSearch {
  TopK best;
  SearchStats stats;
};

class ParallelTopK {
 public:
  explicit ParallelTopK(const ResolvedQuery& query)
      : query_(query), searches_([&query] {
          return PrivateSearch{TopK(query.k, query.min_score), {}};
        }) {}

  // This thread's own heap and counters.
  PrivateSearch& local() { return searches_.local(); }

  // The k best of all heaps, best first; adds the counters to `stats`. Once.
  std::vector<Hit> merge(SearchStats& stats) {
    TopK best(query_.k, query_.min_score);
    for (const PrivateSearch& search : searches_) {
      for (const Hit& hit : search.best.hits()) best.offer(hit);
      stats.tuples_scored += search.stats.tuples_scored;
      stats.blocks_visited += search.stats.blocks_visited;
      stats.nodes_visited += search.stats.nodes_visited;
      stats.bounds_computed += search.stats.bounds_computed;
      stats.candidates += search.stats.candidates;
      stats.replacements += search.best.num_replacements();
      stats.bytes_touched += search.stats.bytes_touched;
    }
    return best.take_sorted();
  }

 private:
  const ResolvedQuery& query_;
  tbb::enumerable_thread_specific<PrivateSearch> searches_;
};

}  // namespace culmen
