// gta: the paper's engine on the paper's terms (GTA 2019, section 3.2).
//
//   hbuild (algorithm 2)   a thread block reads one partition after the other, leaf by leaf; it merges the rows of a
//                          leaf into its heap and stops as soon as the threshold tuple, the attribute-wise maximum
//                          over all later leaves, cannot reach the heap's k-th score
//   hmerge (algorithm 3)   the heaps of all thread blocks become one list; the last block to finish sorts it
//
// A thread block keeps its heap from partition to partition, as in the CPU engine, so later partitions stop earlier
// than with a heap for each.
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/answer.cuh"
#include "gpu/search/bounds.cuh"
#include "gpu/search/engines.h"
#include "gpu/search/heap.cuh"

namespace culmen::gpu {
namespace {

constexpr unsigned kGtaThreads = 128;

template <typename T, QueryKind kKind>
__device__ void merge_leaf(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf, BestRows& best) {
  const std::uint32_t num_rows = mirror.leaves[leaf].num_rows;
  for (std::uint32_t first = 0; first < num_rows; first += kGtaThreads) {
    const std::uint32_t index = first + threadIdx.x;
    double score = 0;
    if (index < num_rows && score_row<T, kKind>(mirror, query, leaf, index, best.kth_bound().score, score) &&
        score >= best.kth_bound().score) {
      const std::uint64_t row = mirror.first_row(leaf) + index;
      const std::int64_t id = mirror.id<T>(row);
      if (passes(score, id, best.kth_bound())) best.append({score, id, row});
    }
    best.merge();
  }
}

// Dynamic shared memory: the heap.
template <typename T, typename Argument, QueryKind kKind>
__global__ void __launch_bounds__(kGtaThreads)
    search_gta(const MirrorRef mirror, const SearchStateRef state, const __grid_constant__ Argument packed) {
  extern __shared__ double dynamic_shared[];
  __shared__ BlockShared shared;
  __shared__ std::uint32_t num_items;
  const QueryRef query = take_query(packed, shared);
  auto* items = reinterpret_cast<Candidate*>(dynamic_shared);
  BestRows best(items, &num_items, state.k, state.kth_bound);
  for (std::uint32_t p = blockIdx.x; p < mirror.num_partitions; p += gridDim.x) {
    const PartitionRange partition = mirror.partitions[p];
    for (std::uint32_t i = 0; i < partition.num_leaves; ++i) {
      const std::uint32_t position = partition.first_leaf + i;
      const std::uint32_t leaf = mirror.leaf_order[position];
      merge_leaf<T, kKind>(mirror, query, leaf, best);
      if (threadIdx.x == 0) {
        ++shared.leaves_visited;
        shared.rows_scored += mirror.leaves[leaf].num_rows;
      }
      const auto* later = mirror.thresholds_of<T>(position);
      const double threshold = zone_score(query, later, later + mirror.num_attributes);
      if (is_excluded(threshold, best.kth_bound(), [&] { return mirror.threshold_min_ids[position]; })) break;
    }
  }
  for (std::uint32_t first = 0; first < best.size(); first += kGtaThreads) {
    const std::uint32_t i = first + threadIdx.x;
    bool pass[1] = {i < best.size()};
    const Candidate rows[1] = {pass[0] ? best[i] : no_candidate()};
    append(candidates_of_all(state), pass, rows, static_cast<int>(threadIdx.x) % kWarpSize);
  }
  finish(state, KeyScale(query), shared, items);
}

}  // namespace

template <typename T>
void launch_gta(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                const cuda::Limits& limits, QueryKind kind, cudaStream_t stream) {
  const std::size_t heap_bytes = heap_capacity(state.k, kGtaThreads) * sizeof(Candidate);
  const cuda::Shape shape = {.num_blocks = num_gta_blocks(limits),
                             .num_threads = kGtaThreads,
                             .shared_bytes = std::max(kSortBytes, heap_bytes)};
  if (needs_wide_argument(query, mirror.num_attributes))
    return cuda::launch(search_gta<T, WideQueryArgument, QueryKind::filtered>, shape, stream, mirror, state,
                        WideQueryArgument{query.outside});
  cuda::launch(kind == QueryKind::filtered ? search_gta<T, QueryArgument, QueryKind::filtered>
                                           : search_gta<T, QueryArgument, QueryKind::plain>,
               shape, stream, mirror, state, query);
}

template void launch_gta<float>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                const cuda::Limits&, QueryKind, cudaStream_t);
template void launch_gta<double>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                 const cuda::Limits&, QueryKind, cudaStream_t);
template void launch_gta<Packed<float>>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                        const cuda::Limits&, QueryKind, cudaStream_t);
template void launch_gta<Packed<double>>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                         const cuda::Limits&, QueryKind, cudaStream_t);

}  // namespace culmen::gpu
