// Rung 0: one kernel per step, the host in between, sorts by CUB. It was never the engine; it is the obvious first
// version.
//
//   1. All level-1 nodes are bounded and sorted.
//   2. The 16 best nodes are opened, then twice as many, and so on. Rows that reach the k-th score bound are appended to
//      the candidates. These are sorted, k stay, and the k-th is the next k-th score bound.
//   3. When the best remaining node does not reach the k-th score bound, the answer is complete.
#include <algorithm>
#include <cub/device/device_merge_sort.cuh>
#include <memory>

#include "bench/ladder/bounded/rungs.h"
#include "gpu/cuda/buffer.h"
#include "gpu/cuda/launch.h"
#include "gpu/search/answer.cuh"
#include "gpu/search/seed_phase.cuh"

namespace culmen::gpu::ladder {
namespace {

constexpr std::uint32_t kFirstNodes = 16;
constexpr int kLoads = 4;

struct BoundedNode {
  double bound;
  std::uint32_t node;
};

struct HigherBound {
  __device__ bool operator()(const BoundedNode& a, const BoundedNode& b) const { return a.bound > b.bound; }
};

struct RanksBefore {
  __device__ bool operator()(const Candidate& a, const Candidate& b) const { return ranks_before(a, b); }
};

// What the host reads after a round, in pinned memory.
struct Report {
  unsigned long long num_candidates;
  Candidate kth;
  BoundedNode next;
};

// One thread per slot.
__global__ void bound_nodes(const MirrorRef mirror, const __grid_constant__ QueryArgument packed,
                            BoundedNode* nodes) {
  __shared__ BlockShared shared;
  const QueryRef query = take_query(packed, shared);
  const std::uint32_t slot = blockIdx.x * blockDim.x + threadIdx.x;
  if (slot >= mirror.num_slots) return;
  const std::uint32_t node = mirror.slot_nodes[slot];
  const double bound = chain_bound(query, SlotColumn(mirror, slot));
  nodes[slot] = {node == kNoNode ? -infinity() : bound, node};
}

// One block per node. All its warps bound all children and divide the leaves that reach the k-th score bound.
__global__ void __launch_bounds__(kSearchThreads)
    visit_nodes(const MirrorRef mirror, const SearchStateRef state, KthBound kth_bound,
                const BoundedNode* nodes, const __grid_constant__ QueryArgument packed) {
  __shared__ BlockShared shared;
  const BoundedNode mine = nodes[blockIdx.x];
  if (is_excluded(mine.bound, kth_bound, [&] { return mirror.node(mine.node).header().min_id; })) return;
  const QueryRef query = take_query(packed, shared);
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const Child child = child_of<QueryKind::plain>(mirror, query, mine.node, lane);
  const bool kept = !is_excluded(child.bound, kth_bound, [&] { return child.min_id; });
  const unsigned all_kept = __ballot_sync(kFullWarp, kept);
  for (int c = static_cast<int>(threadIdx.x) / kWarpSize; c < kFanOut; c += kSearchWarps)
    if ((all_kept >> c & 1) != 0)
      visit_leaf<float, kLoads, QueryKind::plain>(
          mirror, query, kth_bound, __shfl_sync(kFullWarp, child.leaf, c), lane, shared,
          [&](auto& pass, const auto& rows, int) { append(candidates_of_all(state), pass, rows, lane); });
}

class Rounds {
 public:
  void search(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
              cudaStream_t stream) {
    sort_nodes(mirror, query, stream);
    Report& report = *report_.data();
    KthBound kth_bound = state.kth_bound;
    std::uint32_t first = 0;
    for (std::uint32_t size = kFirstNodes; first < mirror.num_slots; size *= 2) {
      size = std::min(size, mirror.num_slots - first);
      const cuda::Shape shape = {.num_blocks = size, .num_threads = kSearchThreads};
      cuda::launch(visit_nodes, shape, stream, mirror, state, kth_bound, nodes_.data() + first, query);
      first += size;
      download(&report.num_candidates, &state.counters->num_candidates, sizeof(std::uint64_t), stream);
      cuda::check(cudaStreamSynchronize(stream));
      if (report.num_candidates > state.capacity) break;
      kth_bound = keep_best(state, first, mirror.num_slots, kth_bound, stream);
      if (first < mirror.num_slots && report.next.bound < kth_bound.score) break;
    }
    answer(state, stream);
  }

 private:
  static constexpr unsigned kThreads = 256;

  static void download(void* to, const void* from, std::size_t num_bytes, cudaStream_t stream) {
    cuda::check(cudaMemcpyAsync(to, from, num_bytes, cudaMemcpyDeviceToHost, stream));
  }

  template <typename T, typename Before>
  void sort(T* items, std::uint64_t count, Before before, cudaStream_t stream) {
    std::size_t num_bytes = 0;
    cuda::check(cub::DeviceMergeSort::SortKeys(nullptr, num_bytes, items, count, before, stream));
    cuda::grow(scratch_, num_bytes, cuda::Memory::device);
    cuda::check(cub::DeviceMergeSort::SortKeys(scratch_.data(), num_bytes, items, count, before, stream));
  }

  void sort_nodes(const MirrorRef& mirror, const QueryArgument& query, cudaStream_t stream) {
    cuda::grow(nodes_, mirror.num_slots, cuda::Memory::device);
    const cuda::Shape shape = {.num_blocks = (mirror.num_slots + kThreads - 1) / kThreads,
                               .num_threads = kThreads};
    cuda::launch(bound_nodes, shape, stream, mirror, query, nodes_.data());
    sort(nodes_.data(), mirror.num_slots, HigherBound{}, stream);
  }

  // Leaves the k best candidates, in order; the k-th score bound that they give. Looks up the next node.
  KthBound keep_best(const SearchStateRef& state, std::uint32_t next, std::uint32_t num_nodes,
                     KthBound kth_bound, cudaStream_t stream) {
    Report& report = *report_.data();
    sort(state.candidates, report.num_candidates, RanksBefore{}, stream);
    const bool is_full = report.num_candidates >= state.k;
    if (is_full) {
      report.num_candidates = state.k;
      cuda::check(cudaMemcpyAsync(&state.counters->num_candidates, &report.num_candidates,
                                  sizeof(std::uint64_t), cudaMemcpyHostToDevice, stream));
      download(&report.kth, state.candidates + state.k - 1, sizeof(Candidate), stream);
    }
    if (next < num_nodes) download(&report.next, nodes_.data() + next, sizeof(BoundedNode), stream);
    cuda::check(cudaStreamSynchronize(stream));
    return is_full ? KthBound{report.kth.score, report.kth.id} : kth_bound;
  }

  void answer(const SearchStateRef& state, cudaStream_t stream) {
    const std::uint64_t count = report_.data()->num_candidates;
    const auto num_hits = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, state.k));
    download(state.hits, state.candidates, num_hits * sizeof(Candidate), stream);
    cuda::check(cudaMemsetAsync(state.counters, 0, sizeof(Counters), stream));
    cuda::check(cudaStreamSynchronize(stream));
    const Outcome outcome = count <= state.capacity ? Outcome::sorted : Outcome::overflow;
    *state.result = {
        .outcome = outcome, .num_hits = num_hits, .num_candidates = count, .sequence = state.sequence};
  }

  cuda::Buffer<BoundedNode> nodes_;
  cuda::Buffer<std::byte> scratch_;
  cuda::Buffer<Report> report_{1, cuda::Memory::pinned};
};

}  // namespace

Launch make_rung_0() {
  return [rounds = std::make_shared<Rounds>()](
             const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
             const GridPlan&, cudaStream_t stream) { rounds->search(mirror, state, query, stream); };
}

}  // namespace culmen::gpu::ladder
