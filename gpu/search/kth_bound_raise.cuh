// Rows that a frontier or a sweep has found: add_found() within a step, KthBoundRaise between two steps.
#pragma once

#include "gpu/search/engines.h"
#include "gpu/search/score_keys.cuh"

namespace culmen::gpu {

// By a lane: adds a row that reaches the k-th score bound of an entry's query. A row that does not fit is only counted.
__device__ inline void add_found(const SweepRef& sweep, std::uint32_t entry, const SeedRow& row) {
  const std::uint32_t found = atomicAdd(&sweep.queries[entry].num_found, 1u);
  if (found < sweep.capacity) sweep.found[std::size_t{entry} * sweep.capacity + found] = row;
}

// By a warp, between two steps: raises a query's bound to the k-th best score found so far and drops the rows below
// it. If the rows did not fit, the step is repeated with the bound that those give which did. If that bound is not
// higher, too many rows tie, and the query returns to its walk.
class KthBoundRaise {
 public:
  __device__ KthBoundRaise(const BatchRef& batch, std::uint32_t entry)
      : batch_(batch),
        mine_(batch.sweep.queries[entry]),
        rows_(batch.sweep.found + std::size_t{entry} * batch.sweep.capacity) {}

  // Returns true if the step must be repeated for the query.
  __device__ bool run(bool is_repeated) {
    const bool fits = mine_.num_found <= batch_.sweep.capacity;
    if (fits ? is_repeated && mine_.is_behind == 0 : mine_.is_left == 1) return false;
    const double before = mine_.kth_bound, kth_bound = fmax(before, kth_score());
    // Where scores are known roughly, the rows that stay could be too many again and again.
    const bool can_repeat = mine_.slack == 0 || mine_.is_behind == 0;
    const bool is_behind = !fits && kth_bound > before && can_repeat;
    const std::uint32_t kept = keep_from(kth_bound - mine_.slack, fits        ? mine_.num_found
                                                                  : is_behind ? mine_.num_kept
                                                                              : 0);
    __syncwarp();  // all lanes have read what lane 0 writes
    if (lane_ == 0) {
      mine_.kth_bound = kth_bound;
      mine_.is_behind = is_behind ? 1 : 0;
      mine_.is_left = !fits && !is_behind ? 1 : 0;
      if (mine_.is_left == 0) mine_.num_found = mine_.num_kept = kept;
    }
    return is_behind;
  }

 private:
  // -infinity if there are fewer.
  __device__ double kth_score() const {
    const std::uint32_t size = min(mine_.num_found, batch_.sweep.capacity);
    if (size < batch_.k) return -infinity();
    const KeyScale scale(QueryRef{batch_.queries + std::size_t{mine_.query} * batch_.query_stride});
    const auto key_at = [&](std::uint32_t i) { return scale.key(__ldcg(&rows_[i].score)); };
    return scale.score_of(kth_key(batch_.k, size, key_at, lane_));
  }

  // Of the first rows; returns how many are left.
  __device__ std::uint32_t keep_from(double least, std::uint32_t count) const {
    std::uint32_t kept = 0;
    for (std::uint32_t first = 0; first < count; first += kWarpSize) {
      const std::uint32_t i = first + lane_;
      const SeedRow row = {__ldcg(&rows_[min(i, count - 1)].score), __ldcg(&rows_[min(i, count - 1)].row)};
      const bool stays = i < count && row.score >= least;
      const unsigned staying = __ballot_sync(kFullWarp, stays);
      if (stays) rows_[kept + static_cast<std::uint32_t>(__popc(staying & ((1u << lane_) - 1)))] = row;
      kept += static_cast<std::uint32_t>(__popc(staying));
    }
    return kept;
  }

  const BatchRef& batch_;
  SweepQuery& mine_;
  SeedRow* rows_;
  std::uint32_t lane_ = threadIdx.x % kWarpSize;
};

}  // namespace culmen::gpu
