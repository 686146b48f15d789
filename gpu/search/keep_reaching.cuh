// Of a block's leaves those of which a row may be in the answer, by their codes.
#pragma once

#include "gpu/search/leaf_code_sums.cuh"
#include "gpu/search/work_list.cuh"

namespace culmen::gpu {

// By all threads, after a barrier; another is in it. Takes leaves out of the list of which no row has a score of kth_score or
// more. Not of short lists, whose leaves are sooner read. num_kept: in shared memory, 0.
template <typename T, QueryKind kKind>
__device__ void keep_reaching(const MirrorRef& mirror, QueryRef query, double kth_score, WorkList& leaves,
                              std::uint32_t& num_kept) {
  const std::uint32_t size = leaves.size();
  if (kKind == QueryKind::with_functions || mirror.codes.words == nullptr || size <= kSearchWarps) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const LeafCodeSums<T> codes(mirror, query, lane);
  const std::uint32_t step = kSearchWarps * codes.leaves_at_once();
  const std::uint32_t mine = threadIdx.x / kWarpSize * codes.leaves_at_once() + codes.leaf_of_lane();
  const auto load = [&](std::uint32_t i) { return codes.load(leaves[min(i + mine, size - 1)]); };
  auto next = load(0);
  for (std::uint32_t first = 0; first < size; first += step) {
    const auto loaded = next;
    next = load(first + step);
    const unsigned reaching = codes.reaching(loaded, first + mine < size, kth_score);
    __syncthreads();  // all have read what may be overwritten now
    leaves.keep((reaching >> lane & 1) != 0, loaded.leaf, num_kept, lane);
  }
  __syncthreads();
  leaves.end_keeping(num_kept);
}

}  // namespace culmen::gpu
