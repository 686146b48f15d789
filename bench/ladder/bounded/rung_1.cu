// Rung 1, commit 118a10e: one launch. Each warp writes its two best scores, and the k-th score bound is the k-th best
// of all of them (4,224 on 132 multiprocessors), found in up to 3 rounds over 2,048 bins of binary64 scores.
#include "bench/ladder/bounded/plain_steps.cuh"

namespace culmen::gpu::ladder {
namespace {

constexpr std::uint32_t kSeedsPerWarp = 2;

// Scores alone, in the memory for rows, which is larger than needed.
__device__ double* seed_scores(const SearchStateRef& state) {
  return reinterpret_cast<double*>(state.seed_rows);
}

// Reduces `low` to the smallest and `high` to the largest of all threads.
__device__ void range_of_scores(double& low, double& high) {
  __shared__ double lows[kSearchWarps], highs[kSearchWarps];
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    low = fmin(low, __shfl_xor_sync(kFullWarp, low, offset));
    high = fmax(high, __shfl_xor_sync(kFullWarp, high, offset));
  }
  __syncthreads();  // earlier readers are done
  if (threadIdx.x % kWarpSize == 0) {
    lows[threadIdx.x / kWarpSize] = low;
    highs[threadIdx.x / kWarpSize] = high;
  }
  __syncthreads();
  for (int w = 0; w < kSearchWarps; ++w) {
    low = fmin(low, lows[w]);
    high = fmax(high, highs[w]);
  }
}

// One of the scores that at least k of them reach, close to the k-th largest; -infinity if there are fewer.
//
// A round counts the scores between `low` and `high` in bins; the smallest and the largest in the bin of the
// k-th are the next round's limits. Rounding can move a score to another bin, but never past a larger one.
__device__ double kth_score(const double* scores, std::uint32_t count, std::uint32_t k,
                            SelectScratch& scratch) {
  constexpr int kMaxRounds = 3;
  constexpr int kFewEnough = 16;
  double low = infinity(), high = -infinity();
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    if (scores[i] != -infinity()) low = fmin(low, scores[i]);
    high = fmax(high, scores[i]);
  }
  range_of_scores(low, high);
  auto wanted = static_cast<int>(k);
  for (int round = 1; low <= high; ++round) {
    const double scale = (kNumBins - 1) / (high - low);
    const auto bin_of = [&](double score) {
      // high = low makes 0 * infinity: NaN, which converts to 0.
      return min(max(__double2int_rd((score - low) * scale), 0), kNumBins - 1);
    };
    const auto counts = [&](double score) { return score >= low && score <= high && score != -infinity(); };
    for (auto b = static_cast<int>(threadIdx.x); b < kNumBins; b += kSearchThreads) scratch.bins[b] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
      if (counts(scores[i])) atomicAdd(&scratch.bins[bin_of(scores[i])], 1);
    __syncthreads();
    choose_bin(wanted, scratch);
    const int chosen = scratch.chosen_bin;
    if (chosen < 0) break;
    double lowest = infinity(), highest = -infinity();
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
      if (counts(scores[i]) && bin_of(scores[i]) == chosen) {
        lowest = fmin(lowest, scores[i]);
        highest = fmax(highest, scores[i]);
      }
    range_of_scores(lowest, highest);
    if (scratch.inside <= kFewEnough || lowest == highest || round == kMaxRounds) return lowest;
    low = lowest;
    high = highest;
    wanted -= scratch.above;
  }
  return -infinity();
}

struct Steps {
  static constexpr bool kSmallGroups = false;
  using List = RowByRow;

  __device__ static std::uint32_t leaf_to_sample(const Search& search) {
    return plain_leaf_to_sample(search);
  }

  __device__ static void write_seeds(const Search& search, std::uint32_t leaf) {
    const int lane = search.team.lane;
    double first = -infinity(), second = -infinity();  // the lane's best
    if (leaf != kNoNode)
      score_leaf<float, kLoads, QueryKind::plain>(
          search.mirror, search.query, leaf, lane, 0, [&](const ScoredRows& rows) {
#pragma unroll
            for (int j = 0; j < kRowsPerLane; ++j) {
              if (!rows.valid[j] || rows.score[j] < search.state.kth_bound.score) continue;
              second = fmax(second, fmin(first, rows.score[j]));
              first = fmax(first, rows.score[j]);
            }
          });
    const std::uint32_t warp = blockIdx.x * kSearchWarps + threadIdx.x / kWarpSize;
    for (std::uint32_t i = 0; i < kSeedsPerWarp; ++i) {
      double top = first;
      if (lane == plain_argmax(top)) {
        first = second;
        second = -infinity();
      }
      if (lane == 0) seed_scores(search.state)[warp * kSeedsPerWarp + i] = top;
    }
  }

  __device__ static KthBound kth_bound(const Search& search, std::uint32_t* memory) {
    const std::uint32_t count = gridDim.x * kSearchWarps * kSeedsPerWarp;
    auto* scores = reinterpret_cast<double*>(memory);
#pragma unroll 4
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
      scores[i] = __ldcg(seed_scores(search.state) + i);
    __syncthreads();
    return higher({kth_score(scores, count, search.state.k, search.shared.select), kNoId},
                  search.state.kth_bound);
  }

  __device__ static void finish(const Search& search, Candidate* items) {
    plain_finish(search, items, [&](std::uint64_t count) {
      constexpr std::uint64_t kMaxScores = kSortBytes / sizeof(double);
      const auto looked_at = static_cast<std::uint32_t>(min(count, kMaxScores));
      auto* scores = reinterpret_cast<double*>(items);
#pragma unroll 4
      for (std::uint32_t i = threadIdx.x; i < looked_at; i += blockDim.x)
        scores[i] = __ldcg(&search.state.candidates[i].score);
      __syncthreads();
      return KthBound{kth_score(scores, looked_at, search.state.k, search.shared.select), kNoId};
    });
  }
};

}  // namespace

void launch_rung_1(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                   const GridPlan& plan, cudaStream_t stream) {
  launch_in_one<Steps>(mirror, state, query, plan, stream);
}

}  // namespace culmen::gpu::ladder
