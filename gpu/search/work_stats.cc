#include "gpu/search/work_stats.h"

namespace culmen::gpu {

void add_work(const ResultHeader& work, std::size_t num_values, std::size_t num_bounds,
              const Snapshot& snapshot, SearchStats& stats) {
  stats.rows_scored += work.rows_scored;
  stats.rows_by_codes += work.rows_by_bounds;
  stats.leaves_visited += work.leaves_visited;
  stats.nodes_visited += work.nodes_visited;
  stats.bounds_computed += work.nodes_visited * kFanOut;
  stats.bytes_touched += work.nodes_visited * num_bounds * sizeof(BoundRow) +
                         work.rows_scored * num_values * snapshot.value_bytes();
}

}  // namespace culmen::gpu
