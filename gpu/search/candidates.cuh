// Rows that may be in the answer: the grid's list in device memory, and a thread block's own in shared memory, which
// it fills first.
#pragma once

#include "gpu/search/grid_search.cuh"

namespace culmen::gpu {

template <typename Size>
struct CandidateList {
  Candidate* items;
  Size* size;  // counts also those that did not fit
  Size capacity;
};

__device__ inline CandidateList<unsigned long long> candidates_of_all(const SearchStateRef& state) {
  return {state.candidates, reinterpret_cast<unsigned long long*>(&state.counters->num_candidates),
          state.capacity};
}

// By a whole warp: appends the lanes' rows for which `pass` is true, kRows for each lane. `pass` stays true if the
// list is full.
template <int kRows, typename Size>
__device__ void append(const CandidateList<Size>& list, bool (&pass)[kRows], const Candidate (&rows)[kRows],
                       int lane) {
  unsigned passing[kRows];
  int total = 0;
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    passing[j] = __ballot_sync(kFullWarp, pass[j]);
    total += __popc(passing[j]);
  }
  if (total == 0) return;
  Size position = 0;
  if (lane == 0) position = atomicAdd(list.size, static_cast<Size>(total));
  position = __shfl_sync(kFullWarp, position, 0);
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    const Size mine = position + static_cast<unsigned>(__popc(passing[j] & ((1u << lane) - 1)));
    if (pass[j] && mine < list.capacity) {
      list.items[mine] = rows[j];
      pass[j] = false;
    }
    position += static_cast<unsigned>(__popc(passing[j]));
  }
}

// The k-th score bound that the first `count` candidates of the grid's list give. `keys`: shared memory for their keys.
__device__ inline KthBound kth_bound_of_candidates(const SearchStateRef& state, KthBound kth_bound,
                                                   std::uint32_t count, const KeyScale& scale,
                                                   std::uint32_t* keys, SelectScratch& scratch) {
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
    keys[i] = scale.key(__ldcg(&state.candidates[i].score));
  __syncthreads();
  return select_kth_bound(
      kth_bound, {keys, nullptr, count}, state.k, scale,
      [&](std::uint32_t i) { return __ldcg(&state.candidates[i].score); },
      [&](std::uint32_t i) { return __ldcg(&state.candidates[i].id); }, scratch);
}

// By a whole warp: scores a leaf and calls take(pass, rows, lane) with the rows that pass the k-th score bound.
template <typename T, int kLoads, QueryKind kKind, typename Take>
__device__ void visit_leaf(const MirrorRef& mirror, QueryRef query, KthBound kth_bound, std::uint32_t leaf,
                           int lane, BlockShared& shared, Take&& take) {
  const std::uint64_t first_row = mirror.first_row(leaf);
  const std::uint32_t num_rows =
      score_leaf<T, kLoads, kKind>(mirror, query, leaf, lane, kth_bound.score, [&](ScoredRows& rows) {
        std::int64_t ids[kRowsPerLane];
        keep_passing<T>(mirror, leaf, kth_bound, rows, ids);
        Candidate found[kRowsPerLane];
#pragma unroll
        for (int j = 0; j < kRowsPerLane; ++j) found[j] = {rows.score[j], ids[j], first_row + rows.index[j]};
        take(rows.valid, found, lane);
      });
  if (lane == 0) {
    atomicAdd(&shared.leaves_visited, 1ull);
    atomicAdd(&shared.rows_scored, static_cast<unsigned long long>(num_rows));
  }
}

// The rows that one block finds, in shared memory: warps do not wait for device memory, and a block that finds many
// keeps only its k best.
class BlockCandidates {
 public:
  // memory: VisitRoom::candidate_bytes() of `capacity` in shared memory. shared.num_found is 0, and used by nothing
  // else.
  __device__ BlockCandidates(const SearchStateRef& state, const KeyScale& scale, KthBound kth_bound,
                             BlockShared& shared, Candidate* memory, std::uint32_t capacity)
      : state_(state),
        scale_(scale),
        kth_bound_(kth_bound),
        scratch_(shared.select),
        list_{memory, &shared.num_found, capacity},
        keys_(reinterpret_cast<std::uint32_t*>(memory + capacity)) {}

  // Rows must pass this to be appended.
  __device__ KthBound kth_bound() const { return kth_bound_; }

  __device__ void append(bool (&pass)[kRowsPerLane], const Candidate (&rows)[kRowsPerLane], int lane) {
    gpu::append(list_, pass, rows, lane);
    bool left = false;
    for (const bool any : pass) left |= any;
    if (__any_sync(kFullWarp, left)) gpu::append(candidates_of_all(state_), pass, rows, lane);
  }

  // By all threads: makes room for a usual leaf of each warp.
  __device__ void make_room() {
    constexpr std::uint32_t kRound = kSearchWarps * kRowsAtOnce;
    static_assert(kRound <= kSmallRoom.candidates);
    __syncthreads();
    const bool has_room = *list_.size + kRound <= list_.capacity;
    __syncthreads();  // all threads have read the size
    if (has_room) return;
    const bool can_stay = state_.k <= (list_.capacity - kRound) / 2;
    move_best([&](auto& pass, const auto& rows, int lane) {
      can_stay ? gpu::append(list_, pass, rows, lane)
               : gpu::append(candidates_of_all(state_), pass, rows, lane);
    });
  }

  // By all threads: moves the rows that may be in the answer to the grid's list.
  __device__ void flush() {
    __syncthreads();
    if (*list_.size == 0) return;
    move_best([&](auto& pass, const auto& rows, int lane) {
      gpu::append(candidates_of_all(state_), pass, rows, lane);
    });
  }

 private:
  // Empties the list, and calls give(pass, rows, lane) with those of its rows that are among its k best.
  template <typename Give>
  __device__ void move_best(Give&& give) {
    constexpr int kRows = kUsualRoom.candidates / kSearchThreads;
    constexpr std::uint32_t kWorthIt = 128;
    const std::uint32_t count = min(*list_.size, list_.capacity);
    if (count > state_.k + state_.k / 2 + kWorthIt) raise_kth_bound(count);
    bool pass[kRows];
    Candidate rows[kRows];
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      const std::uint32_t i = j * kSearchThreads + threadIdx.x;
      rows[j] = list_.items[min(i, count - 1)];
      pass[j] = i < count && passes(rows[j].score, rows[j].id, kth_bound_);
    }
    __syncthreads();  // all have read the list
    if (threadIdx.x == 0) *list_.size = 0;
    __syncthreads();
    give(pass, rows, static_cast<int>(threadIdx.x) % kWarpSize);
    __syncthreads();
  }

  __device__ void raise_kth_bound(std::uint32_t count) {
    for (std::uint32_t i = threadIdx.x; i < count; i += kSearchThreads)
      keys_[i] = scale_.key(list_.items[i].score);
    __syncthreads();
    kth_bound_ = select_kth_bound(
        kth_bound_, {keys_, nullptr, count}, state_.k, scale_,
        [&](std::uint32_t i) { return list_.items[i].score; },
        [&](std::uint32_t i) { return list_.items[i].id; }, scratch_);
  }

  const SearchStateRef& state_;
  const KeyScale& scale_;
  KthBound kth_bound_;
  SelectScratch& scratch_;
  CandidateList<std::uint32_t> list_;
  std::uint32_t* keys_;
};

}  // namespace culmen::gpu
