// Rows that may be in the answer: the list of all thread blocks in device memory, and a block's own in shared
// memory before it.
#pragma once

#include "gpu/search/grid_search.cuh"

namespace culmen::gpu {

template <typename Size>
struct CandidateList {
  Candidate* items;
  Size* size;  // counts those that found no room, too
  Size capacity;
};

__device__ inline CandidateList<unsigned long long> candidates_of_all(const SearchStateRef& state) {
  return {state.candidates, reinterpret_cast<unsigned long long*>(&state.counters->num_candidates),
          state.capacity};
}

// By a whole warp: appends the lanes' rows where `pass`, kRows a lane; it stays true where there was no room.
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
  Size place = 0;
  if (lane == 0) place = atomicAdd(list.size, static_cast<Size>(total));
  place = __shfl_sync(kFullWarp, place, 0);
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    const Size mine = place + static_cast<unsigned>(__popc(passing[j] & ((1u << lane) - 1)));
    if (pass[j] && mine < list.capacity) {
      list.items[mine] = rows[j];
      pass[j] = false;
    }
    place += static_cast<unsigned>(__popc(passing[j]));
  }
}

// The floor that the first `count` candidates of all give; `keys`, in shared memory, has room for theirs.
__device__ inline Floor floor_of_candidates(const SearchStateRef& state, Floor floor, std::uint32_t count,
                                            const KeyScale& scale, std::uint32_t* keys,
                                            SelectScratch& scratch) {
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
    keys[i] = scale.key(__ldcg(&state.candidates[i].score));
  __syncthreads();
  return kth_floor(
      floor, {keys, nullptr, count}, state.k, scale,
      [&](std::uint32_t i) { return __ldcg(&state.candidates[i].score); },
      [&](std::uint32_t i) { return __ldcg(&state.candidates[i].id); }, scratch);
}

// By a whole warp: scores a leaf and calls take(pass, rows, lane) with the rows that pass the floor.
template <typename T, int kLoads, typename Take>
__device__ void visit_leaf(const MirrorRef& mirror, QueryRef query, Floor floor, std::uint32_t leaf, int lane,
                           BlockShared& shared, Take&& take) {
  const std::uint64_t first_row = mirror.first_row(leaf);
  const std::uint32_t num_rows = score_leaf<T, kLoads>(mirror, query, leaf, lane, [&](ScoredRows& rows) {
    std::int64_t ids[kRowsPerLane];
    keep_passing(mirror, leaf, floor, rows, ids);
    Candidate found[kRowsPerLane];
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) found[j] = {rows.score[j], ids[j], first_row + rows.index[j]};
    take(rows.valid, found, lane);
  });
  if (lane == 0) {
    atomicAdd(&shared.leaves_visited, 1ull);
    atomicAdd(&shared.tuples_scored, static_cast<unsigned long long>(num_rows));
  }
}

// The rows that one block finds. In shared memory, so that warps need not wait for device memory, and so that
// a block that finds many keeps only its k best.
class BlockCandidates {
 public:
  // memory: VisitRoom::candidate_bytes() of `capacity` in shared memory; shared.num_found is 0 and belongs to
  // it.
  __device__ BlockCandidates(const SearchStateRef& state, const KeyScale& scale, Floor floor,
                             BlockShared& shared, Candidate* memory, std::uint32_t capacity)
      : state_(state),
        scale_(scale),
        floor_(floor),
        scratch_(shared.select),
        list_{memory, &shared.num_found, capacity},
        keys_(reinterpret_cast<std::uint32_t*>(memory + capacity)) {}

  // Rows must pass this to be appended.
  __device__ Floor floor() const { return floor_; }

  __device__ void append(bool (&pass)[kRowsPerLane], const Candidate (&rows)[kRowsPerLane], int lane) {
    gpu::append(list_, pass, rows, lane);
    bool left = false;
    for (const bool any : pass) left |= any;
    if (__any_sync(kFullWarp, left)) gpu::append(candidates_of_all(state_), pass, rows, lane);
  }

  // By all threads: room for a usual leaf of each warp.
  __device__ void make_room() {
    constexpr std::uint32_t kRound = kSearchWarps * kRowsAtOnce;
    static_assert(kRound <= kSmallRoom.candidates);
    __syncthreads();
    const bool has_room = *list_.size + kRound <= list_.capacity;
    __syncthreads();  // nobody appends before all have looked
    if (has_room) return;
    const bool can_stay = state_.k <= (list_.capacity - kRound) / 2;
    move_best([&](auto& pass, const auto& rows, int lane) {
      can_stay ? gpu::append(list_, pass, rows, lane)
               : gpu::append(candidates_of_all(state_), pass, rows, lane);
    });
  }

  // By all threads: hands over what is worth it.
  __device__ void flush() {
    __syncthreads();
    if (*list_.size == 0) return;
    move_best([&](auto& pass, const auto& rows, int lane) {
      gpu::append(candidates_of_all(state_), pass, rows, lane);
    });
  }

 private:
  // Empties the list and calls give(pass, rows, lane) with the rows that are among the k best of it.
  template <typename Give>
  __device__ void move_best(Give&& give) {
    constexpr int kRows = kUsualRoom.candidates / kSearchThreads;
    constexpr std::uint32_t kWorthIt = 128;
    const std::uint32_t count = min(*list_.size, list_.capacity);
    if (count > state_.k + state_.k / 2 + kWorthIt) raise_floor(count);
    bool pass[kRows];
    Candidate rows[kRows];
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      const std::uint32_t i = j * kSearchThreads + threadIdx.x;
      rows[j] = list_.items[min(i, count - 1)];
      pass[j] = i < count && passes(rows[j].score, rows[j].id, floor_);
    }
    __syncthreads();  // all have read the list
    if (threadIdx.x == 0) *list_.size = 0;
    __syncthreads();
    give(pass, rows, static_cast<int>(threadIdx.x) % kWarpSize);
    __syncthreads();
  }

  __device__ void raise_floor(std::uint32_t count) {
    for (std::uint32_t i = threadIdx.x; i < count; i += kSearchThreads)
      keys_[i] = scale_.key(list_.items[i].score);
    __syncthreads();
    floor_ = kth_floor(
        floor_, {keys_, nullptr, count}, state_.k, scale_,
        [&](std::uint32_t i) { return list_.items[i].score; },
        [&](std::uint32_t i) { return list_.items[i].id; }, scratch_);
  }

  const SearchStateRef& state_;
  const KeyScale& scale_;
  Floor floor_;
  SelectScratch& scratch_;
  CandidateList<std::uint32_t> list_;
  std::uint32_t* keys_;
};

}  // namespace culmen::gpu
