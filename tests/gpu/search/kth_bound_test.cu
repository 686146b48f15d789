// The parts of a search on a device that raise its k-th score bound, each in a small kernel: keys of scores (KeyScale),
// the selection by a thread block (select_kth_bound), the list of a warp (WarpBest) and the rows of a sweep's step
// (KthBoundRaise). A sort on the host gives the expected values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpu/cuda/launch.h"
#include "gpu/search/kth_bound_raise.cuh"
#include "gpu/search/select_kth_bound.cuh"
#include "gpu/search/warp_best.cuh"
#include "tests/cases.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/gpu/upload.h"

namespace culmen::test {
namespace {

using gpu::Candidate;
using gpu::KthBound;

constexpr double kNoScore = -std::numeric_limits<double>::infinity();
constexpr KthBound kLowestBound = {kNoScore, kNoId};  // all rows pass it

// With fewer cases than usual, as under a sanitizer, tests skip the large sizes.
bool is_brief() {
  constexpr std::uint64_t kUsual = 1000;
  return num_cases(kUsual) < kUsual;
}

template <typename T>
std::vector<T> from_device(const cuda::Buffer<T>& buffer) {
  std::vector<T> values(buffer.size());
  cuda::check(cudaMemcpy(values.data(), buffer.data(), buffer.size_bytes(), cudaMemcpyDefault));
  return values;
}

// A packed query of which only the scale of keys is read.
gpu::PackedHeader query_with(double base, int exponent) {
  gpu::PackedHeader header = {};
  header.base = base;
  header.key_scale = std::ldexp(1.0, -exponent);
  header.key_unit = std::ldexp(1.0, exponent);
  return header;
}

constexpr double kHugeBase = 1e300;  // score - base rounds to the same value for all scores

// Scores of one kind, and a scale of keys for them.
struct Scores {
  std::string name;
  double base;
  int exponent;
  std::function<double(std::mt19937_64&)> draw;
};

std::vector<Scores> all_scores() {
  using Generator = std::mt19937_64;
  const auto unit = [](Generator& random) { return std::uniform_real_distribution<double>(0, 1)(random); };
  const auto below = [](Generator& random, std::uint64_t n) { return static_cast<double>(random() % n); };
  return {
      {"uniform", 0, 0, unit},
      {"of both signs", 0.25, 1, [=](Generator& random) { return unit(random) * 3 - 2; }},
      {"of a few values", 0, 3, [=](Generator& random) { return below(random, 5); }},
      {"of one value", 1, 0, [](Generator&) { return 0.75; }},
      {"apart by units in the last place", 0, 0,
       [=](Generator& random) { return 1 + below(random, 64) * 0x1p-52; }},
      {"of many magnitudes", 0, 40,
       [=](Generator& random) { return std::ldexp(unit(random), static_cast<int>(below(random, 80)) - 40); }},
      {"at the edges between keys, where the base rounds", -0x1p20, 20,
       [=](Generator& random) { return below(random, 64) / 8 + (below(random, 3) - 1) * 0x1p-40; }},
      {"with a base so large that all have one key", kHugeBase, 0, unit},
      {"with an infinite base", std::numeric_limits<double>::infinity(), 0, unit},
  };
}

// Ids are unique and in no order.
std::vector<Candidate> draw_rows(const Scores& scores, std::size_t count, std::mt19937_64& random) {
  std::vector<Candidate> rows(count);
  for (std::size_t i = 0; i < count; ++i)
    rows[i] = {scores.draw(random), static_cast<std::int64_t>(i) - 100, i};
  std::shuffle(rows.begin(), rows.end(), random);
  return rows;
}

bool passes_on_host(const Candidate& row, KthBound bound) {
  return row.score > bound.score || (row.score == bound.score && row.id <= bound.id);
}

// ---- KeyScale

__global__ void compare_keys(const gpu::PackedHeader* query, const double* scores, std::uint32_t count,
                             std::uint32_t* keys, double* lowest_scores) {
  const gpu::KeyScale scale(gpu::QueryRef{reinterpret_cast<const std::byte*>(query)});
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  keys[i] = scale.key(scores[i]);
  lowest_scores[i] = scale.score_of(keys[i]);
}

TEST(KeyScale, AScoreReachesAKeysLowestScoreIfAndOnlyIfItsOwnKeyReachesTheKey) {
  SKIP_WITHOUT_GPU();
  std::mt19937_64 random(1);
  for (const Scores& kind : all_scores()) {
    constexpr std::uint32_t kCount = 500;
    std::vector<double> scores(kCount);
    for (double& score : scores) score = kind.draw(random);
    const cuda::Buffer<gpu::PackedHeader> query =
        to_device(std::vector{query_with(kind.base, kind.exponent)});
    const cuda::Buffer<double> on_device = to_device(scores), d_lowest(kCount);
    const cuda::Buffer<std::uint32_t> d_keys(kCount);
    cuda::launch(compare_keys, {.num_blocks = (kCount + 127) / 128, .num_threads = 128}, nullptr,
                 query.data(), on_device.data(), kCount, d_keys.data(), d_lowest.data());
    const std::vector<std::uint32_t> keys = from_device(d_keys);
    const std::vector<double> lowest = from_device(d_lowest);
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_GT(keys[i], gpu::KeyScale::kNone) << kind.name;
      for (std::size_t j = 0; j < kCount; ++j)
        ASSERT_EQ(scores[i] >= lowest[j], keys[i] >= keys[j])
            << kind.name << ", " << scores[i] << ", " << scores[j];
    }
  }
}

// ---- select_kth_bound

struct SelectRequest {
  const gpu::PackedHeader* query;
  const Candidate* rows;
  const std::uint32_t* counts;  // null: each row stands for one
  std::uint32_t size, k;
  KthBound start;
  KthBound* out;  // [blockDim.x]
};

__global__ void select_bound(const SelectRequest request) {
  extern __shared__ std::uint32_t shared_keys[];
  __shared__ gpu::SelectScratch scratch;
  const gpu::KeyScale scale(gpu::QueryRef{reinterpret_cast<const std::byte*>(request.query)});
  std::uint32_t* counts = request.counts == nullptr ? nullptr : shared_keys + request.size;
  for (std::uint32_t i = threadIdx.x; i < request.size; i += blockDim.x) {
    shared_keys[i] = scale.key(request.rows[i].score);
    if (counts != nullptr) counts[i] = request.counts[i];
  }
  __syncthreads();
  request.out[threadIdx.x] = gpu::select_kth_bound(
      request.start, {shared_keys, counts, request.size}, request.k, scale,
      [&](std::uint32_t i) { return request.rows[i].score; },
      [&](std::uint32_t i) { return request.rows[i].id; }, scratch);
}

// counts: empty if each row stands for one.
KthBound selected_bound(const Scores& scores, const std::vector<Candidate>& rows,
                        const std::vector<std::uint32_t>& counts, std::uint32_t k, KthBound start,
                        unsigned num_threads) {
  const cuda::Buffer<gpu::PackedHeader> query =
      to_device(std::vector{query_with(scores.base, scores.exponent)});
  const cuda::Buffer<Candidate> d_rows = to_device(rows);
  const cuda::Buffer<std::uint32_t> d_counts = to_device(counts);
  const cuda::Buffer<KthBound> out(num_threads);
  const auto size = static_cast<std::uint32_t>(rows.size());
  const SelectRequest request = {
      query.data(), d_rows.data(), counts.empty() ? nullptr : d_counts.data(), size, k, start, out.data()};
  cuda::launch(
      select_bound,
      {.num_threads = num_threads, .shared_bytes = (rows.size() + counts.size()) * sizeof(std::uint32_t)},
      nullptr, request);
  const std::vector<KthBound> bounds = from_device(out);
  for (const KthBound& bound : bounds) {
    EXPECT_EQ(bound.score, bounds[0].score) << "threads differ";
    EXPECT_EQ(bound.id, bounds[0].id) << "threads differ";
  }
  return bounds[0];
}

// Empty if the k-th row passes the bound, and of the rows after it no more than kMaxTies. The selection began with
// kLowestBound.
std::string selection_fault(const Scores& scores, KthBound bound, const std::vector<Candidate>& rows,
                            const std::vector<std::uint32_t>& counts, std::uint32_t k) {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return gpu::ranks_before(rows[a], rows[b]); });
  std::size_t before = 0;  // rows that the first `kth` of the order stand for
  std::size_t kth = 0;
  for (; kth < order.size(); ++kth) {
    before += counts.empty() ? 1 : counts[order[kth]];
    if (before >= k) break;
  }
  if (kth == order.size())
    return bound.score == kNoScore && bound.id == kNoId ? "" : "a bound of fewer than k rows";
  if (!passes_on_host(rows[order[kth]], bound)) return "the k-th row does not pass";
  if (bound.score == kNoScore && scores.base < kHugeBase) return "no bound, though there are k rows";
  std::size_t num_after = 0;
  for (std::size_t i = kth + 1; i < order.size(); ++i)
    num_after += passes_on_host(rows[order[i]], bound) ? 1 : 0;
  return num_after <= gpu::kMaxTies ? "" : std::to_string(num_after) + " rows pass beside the k";
}

TEST(SelectKthBound, LetsTheKBestPassAndFewMore) {
  SKIP_WITHOUT_GPU();
  std::mt19937_64 random(2);
  for (const unsigned num_threads : {32u, 256u, 512u, 1024u})
    for (const Scores& kind : all_scores())
      for (const std::size_t size : {1, 31, 32, 33, 700, 3000})
        for (const std::size_t k : {std::size_t{1}, std::size_t{2}, size / 2 + 1, size, size + 1}) {
          if (is_brief() && size > 700) continue;
          const std::vector<Candidate> rows = draw_rows(kind, size, random);
          const KthBound bound =
              selected_bound(kind, rows, {}, static_cast<std::uint32_t>(k), kLowestBound, num_threads);
          ASSERT_EQ(selection_fault(kind, bound, rows, {}, static_cast<std::uint32_t>(k)), "")
              << "scores " << kind.name << ", " << size << " rows, k = " << k << ", " << num_threads
              << " threads";
        }
}

TEST(SelectKthBound, CountsTheRowsThatARowStandsFor) {
  SKIP_WITHOUT_GPU();
  std::mt19937_64 random(3);
  for (const Scores& kind : all_scores())
    for (const std::size_t size : {1, 40, 1500})
      for (const std::uint32_t k : {1u, 50u, 2000u, 100'000u}) {
        const std::vector<Candidate> rows = draw_rows(kind, size, random);
        std::vector<std::uint32_t> counts(size);
        for (std::uint32_t& count : counts) count = 1 + static_cast<std::uint32_t>(random() % 90);
        const KthBound bound = selected_bound(kind, rows, counts, k, kLowestBound, gpu::kSearchThreads);
        ASSERT_EQ(selection_fault(kind, bound, rows, counts, k), "")
            << "scores " << kind.name << ", " << size << " rows, k = " << k;
      }
}

TEST(SelectKthBound, NeverFallsBelowWhereItStarts) {
  SKIP_WITHOUT_GPU();
  std::mt19937_64 random(4);
  const Scores kind = all_scores()[0];
  const std::vector<Candidate> rows = draw_rows(kind, 500, random);
  for (const KthBound start : {KthBound{2, 7}, KthBound{1, kNoId}}) {  // above all scores
    const KthBound bound = selected_bound(kind, rows, {}, 10, start, gpu::kSearchThreads);
    EXPECT_EQ(bound.score, start.score);
    EXPECT_EQ(bound.id, start.id);
  }
  const KthBound low = {-1, 3};
  EXPECT_GT(selected_bound(kind, rows, {}, 10, low, gpu::kSearchThreads).score, low.score);
}

// As in a damaged index, whose ids are not unique.
TEST(SelectKthBound, IsThatOfAllRowsWhereTheyShareScoreAndId) {
  SKIP_WITHOUT_GPU();
  const Scores kind = all_scores()[3];
  const std::vector<Candidate> rows(900, Candidate{0.75, 11, 0});
  const KthBound bound = selected_bound(kind, rows, {}, 10, kLowestBound, gpu::kSearchThreads);
  EXPECT_EQ(bound.score, 0.75);
  EXPECT_EQ(bound.id, 11);
}

// ---- WarpBest

struct BestRequest {
  const gpu::PackedHeader* query;
  const Candidate* rows;
  std::uint32_t size, k;
  std::uint32_t num_before_restart;  // rows appended before a restart; 0: no restart
  Candidate* best;                   // [k]
  std::uint32_t* num_best;
  KthBound* bound;  // after the last row
};

__device__ void append_all(gpu::WarpBest& best, const Candidate* rows, std::uint32_t size) {
  for (std::uint32_t first = 0; first < size; first += gpu::kRowsAtOnce) {
    bool pass[gpu::kRowsPerLane];
    Candidate mine[gpu::kRowsPerLane];
    for (int j = 0; j < gpu::kRowsPerLane; ++j) {
      const std::uint32_t i = first + static_cast<std::uint32_t>(j * gpu::kWarpSize) + threadIdx.x;
      mine[j] = rows[min(i, size - 1)];
      pass[j] = i < size && gpu::passes(mine[j].score, mine[j].id, best.kth_bound());
    }
    best.append(pass, mine);
  }
}

__global__ void keep_best(const BestRequest request) {
  extern __shared__ double best_memory[];
  const gpu::KeyScale scale(gpu::QueryRef{reinterpret_cast<const std::byte*>(request.query)});
  gpu::WarpBest best(reinterpret_cast<std::byte*>(best_memory), request.k, scale, {-gpu::infinity(), kNoId});
  if (request.num_before_restart > 0) {
    append_all(best, request.rows, request.num_before_restart);
    best.restart();
  }
  append_all(best, request.rows, request.size);
  const KthBound bound = best.kth_bound();
  const std::uint32_t count = best.finish();
  for (std::uint32_t i = threadIdx.x; i < count; i += gpu::kWarpSize) request.best[i] = best[i];
  if (threadIdx.x == 0) {
    *request.num_best = count;
    *request.bound = bound;
  }
}

void expect_best(const Scores& kind, std::vector<Candidate> rows, std::uint32_t k,
                 std::uint32_t num_before_restart) {
  const cuda::Buffer<gpu::PackedHeader> query = to_device(std::vector{query_with(kind.base, kind.exponent)});
  const cuda::Buffer<Candidate> d_rows = to_device(rows), d_best = to_device(std::vector<Candidate>(k));
  const cuda::Buffer<std::uint32_t> d_num_best(1);
  const cuda::Buffer<KthBound> d_bound(1);
  const BestRequest request = {query.data(),
                               d_rows.data(),
                               static_cast<std::uint32_t>(rows.size()),
                               k,
                               num_before_restart,
                               d_best.data(),
                               d_num_best.data(),
                               d_bound.data()};
  cuda::launch(keep_best, {.num_threads = gpu::kWarpSize, .shared_bytes = gpu::WarpBest::num_bytes(k)},
               nullptr, request);
  const std::vector<Candidate> best = from_device(d_best);
  const KthBound bound = from_device(d_bound)[0];
  std::ranges::sort(rows, gpu::ranks_before);
  const std::size_t num_expected = std::min<std::size_t>(k, rows.size());
  ASSERT_EQ(from_device(d_num_best)[0], num_expected);
  for (std::size_t i = 0; i < num_expected; ++i) {
    ASSERT_EQ(best[i].score, rows[i].score) << "rank " << i;
    ASSERT_EQ(best[i].id, rows[i].id) << "rank " << i;
    ASSERT_EQ(best[i].row, rows[i].row) << "rank " << i;
    ASSERT_TRUE(passes_on_host(rows[i], bound)) << "rank " << i;
  }
}

TEST(WarpBest, HasTheKBestInOrder) {
  SKIP_WITHOUT_GPU();
  std::mt19937_64 random(5);
  for (const Scores& kind : all_scores())
    for (const std::size_t size : {1, 95, 96, 97, 1000, 5000})
      for (const std::uint32_t k : {1u, 2u, 16u, 33u, 100u, 1000u, gpu::kMaxSortedHits})
        for (const bool restarts : {false, true}) {
          if (is_brief() && size > 1000) continue;
          SCOPED_TRACE("scores " + kind.name + ", " + std::to_string(size) +
                       " rows, k = " + std::to_string(k));
          const auto num_before_restart = static_cast<std::uint32_t>(restarts ? size / 2 : 0);
          expect_best(kind, draw_rows(kind, size, random), k, num_before_restart);
          if (HasFatalFailure()) return;
        }
}

// Each row of an ascending order passes the bound of those before it: the worst case for the list.
TEST(WarpBest, TakesRowsThatAreBetterAndBetter) {
  SKIP_WITHOUT_GPU();
  std::mt19937_64 random(6);
  for (const Scores& kind : all_scores())
    for (const std::uint32_t k : {1u, 64u, gpu::kMaxSortedHits}) {
      SCOPED_TRACE("scores " + kind.name + ", k = " + std::to_string(k));
      std::vector<Candidate> rows = draw_rows(kind, 4000, random);
      std::ranges::sort(rows, [](const Candidate& a, const Candidate& b) { return gpu::ranks_before(b, a); });
      expect_best(kind, rows, k, 0);
      if (HasFatalFailure()) return;
    }
}

// ---- KthBoundRaise

__global__ void raise_bounds(const gpu::BatchRef batch, bool is_repeated, std::uint32_t* must_repeat) {
  gpu::KthBoundRaise raise(batch, blockIdx.x);
  const bool again = raise.run(is_repeated);
  if (threadIdx.x == 0) must_repeat[blockIdx.x] = again ? 1 : 0;
}

// The queries of a sweep between two steps: their state, and the rows found, as many as fit.
struct Step {
  std::uint32_t k, capacity;
  std::vector<gpu::SweepQuery> queries;
  std::vector<gpu::SeedRow> found;         // [queries.size()][capacity]
  std::vector<std::uint32_t> must_repeat;  // as the kernel says

  std::uint32_t size_of(std::size_t entry) const { return std::min(queries[entry].num_found, capacity); }
  const gpu::SeedRow* rows_of(std::size_t entry) const { return found.data() + entry * capacity; }

  // A query with this bound and random rows, all of which reach it. num_found may exceed the capacity.
  void add(double bound, std::uint32_t num_kept, std::uint32_t num_found,
           const std::function<double()>& draw) {
    gpu::SweepQuery query = {};
    query.kth_bound = bound;
    query.query = static_cast<std::uint32_t>(queries.size());
    query.num_kept = num_kept;
    query.num_found = num_found;
    queries.push_back(query);
    for (std::uint32_t i = 0; i < capacity; ++i) found.push_back({i < num_found ? draw() : 0, 1000 + i});
  }

  void raise(bool is_repeated) {
    const cuda::Buffer<gpu::PackedHeader> headers = to_device(std::vector(queries.size(), query_with(0, 6)));
    const cuda::Buffer<gpu::SweepQuery> d_queries = to_device(queries);
    const cuda::Buffer<gpu::SeedRow> d_found = to_device(found);
    const cuda::Buffer<std::uint32_t> d_repeat(queries.size());
    gpu::BatchRef batch = {};
    batch.queries = reinterpret_cast<const std::byte*>(headers.data());
    batch.num_queries = static_cast<std::uint32_t>(queries.size());
    batch.query_stride = sizeof(gpu::PackedHeader);
    batch.k = k;
    batch.sweep.queries = d_queries.data();
    batch.sweep.found = d_found.data();
    batch.sweep.most = batch.num_queries;
    batch.sweep.capacity = capacity;
    cuda::launch(raise_bounds, {.num_blocks = batch.num_queries, .num_threads = gpu::kWarpSize}, nullptr,
                 batch, is_repeated, d_repeat.data());
    queries = from_device(d_queries);
    found = from_device(d_found);
    must_repeat = from_device(d_repeat);
  }
};

// The same for one query, by a sort. Its scores have so few digits that their keys are exact: rows that reach the bound
// are those that reach the k-th score.
struct ExpectedRaise {
  bool is_raised, is_behind, is_left;
  double kth_score;                 // if it is raised
  std::vector<std::uint64_t> kept;  // rows, in order

  ExpectedRaise(const Step& step, std::size_t entry) {
    const gpu::SweepQuery& query = step.queries[entry];
    const std::uint32_t size = step.size_of(entry);
    const gpu::SeedRow* rows = step.rows_of(entry);
    std::vector<double> scores;
    for (std::uint32_t i = 0; i < size; ++i) scores.push_back(rows[i].score);
    std::ranges::sort(scores, std::greater<>());
    kth_score = size >= step.k ? scores[step.k - 1] : kNoScore;
    is_raised = kth_score > query.kth_bound;
    const bool fits = query.num_found <= step.capacity;
    is_behind = !fits && is_raised;
    is_left = !fits && !is_raised;
    const double bound = std::max(kth_score, query.kth_bound);
    for (std::uint32_t i = 0; i < (fits ? size : is_behind ? query.num_kept : 0); ++i)
      if (rows[i].score >= bound) kept.push_back(rows[i].row);
  }
};

void expect_raised(const Step& before, const Step& after, std::size_t entry) {
  const ExpectedRaise expected(before, entry);
  const gpu::SweepQuery &old = before.queries[entry], &raised = after.queries[entry];
  EXPECT_EQ(after.must_repeat[entry] != 0, expected.is_behind);
  EXPECT_EQ(raised.is_behind != 0, expected.is_behind);
  EXPECT_EQ(raised.is_left != 0, expected.is_left);
  if (expected.is_raised) {
    EXPECT_GT(raised.kth_bound, old.kth_bound);
    EXPECT_LE(raised.kth_bound, expected.kth_score);
  } else {
    EXPECT_EQ(raised.kth_bound, old.kth_bound);
  }
  if (expected.is_left) {  // the query is unchanged
    EXPECT_EQ(raised.num_found, old.num_found);
    EXPECT_EQ(raised.num_kept, old.num_kept);
    for (std::uint32_t i = 0; i < after.capacity; ++i)
      ASSERT_EQ(after.rows_of(entry)[i].row, before.rows_of(entry)[i].row) << "row " << i;
    return;
  }
  ASSERT_EQ(raised.num_found, expected.kept.size());
  EXPECT_EQ(raised.num_kept, expected.kept.size());
  for (std::size_t i = 0; i < expected.kept.size(); ++i) {
    const gpu::SeedRow& row = after.rows_of(entry)[i];
    ASSERT_EQ(row.row, expected.kept[i]) << "row " << i;
    ASSERT_EQ(row.score, before.rows_of(entry)[row.row - 1000].score) << "row " << i;
  }
}

TEST(KthBoundRaise, KeepsTheRowsThatReachTheKthScore) {
  SKIP_WITHOUT_GPU();
  std::mt19937_64 random(7);
  std::size_t num_raised = 0, num_behind = 0, num_left = 0;
  for (const std::uint32_t k : {1u, 2u, 10u, 100u})
    for (const std::uint32_t capacity : {k, 2 * k + 7, 12 * k + 256})
      for (const std::uint64_t num_scores : {1, 4, 600}) {  // distinct ones: few of them tie
        Step step = {k, capacity, {}, {}, {}};
        const double lowest = static_cast<double>(random() % 8);
        const auto draw = [&] { return lowest + static_cast<double>(random() % num_scores) / 16; };
        for (const double bound : {kNoScore, lowest})
          for (const std::uint32_t found :
               {0u, k - 1, k, k + 1, capacity - 1, capacity, capacity + 1, 3 * capacity})
            for (const std::uint32_t kept : {0u, k, capacity / 2})
              step.add(bound, std::min({kept, found, capacity}), found, draw);
        const Step before = step;
        step.raise(false);
        for (std::size_t entry = 0; entry < step.queries.size(); ++entry) {
          SCOPED_TRACE("k = " + std::to_string(k) + ", room for " + std::to_string(capacity) + ", found " +
                       std::to_string(before.queries[entry].num_found) + ", of " +
                       std::to_string(num_scores) + " scores");
          expect_raised(before, step, entry);
          if (HasFatalFailure()) return;
          num_raised += step.queries[entry].kth_bound > before.queries[entry].kth_bound ? 1 : 0;
          num_behind += step.queries[entry].is_behind;
          num_left += step.queries[entry].is_left;
        }
      }
  EXPECT_GT(num_raised, 100u);
  EXPECT_GT(num_behind, 20u);
  EXPECT_GT(num_left, 20u);
}

// Only queries whose rows did not fit repeat a step, until they fit; a query left to its walk stays unchanged.
TEST(KthBoundRaise, AsksForARepetitionUntilTheRowsFit) {
  SKIP_WITHOUT_GPU();
  constexpr std::uint32_t kBest = 10, kCapacity = 40;
  std::mt19937_64 random(8);
  const auto draw = [&] { return static_cast<double>(random() % 900) / 16; };
  Step step = {kBest, kCapacity, {}, {}, {}};
  step.add(kNoScore, 0, 30, draw);          // fits
  step.add(kNoScore, 0, 500, draw);         // does not fit
  step.add(1, 0, 500, [] { return 1.0; });  // does not fit, and all tie
  step.raise(false);
  EXPECT_EQ(step.must_repeat, (std::vector<std::uint32_t>{0, 1, 0}));
  EXPECT_EQ(step.queries[2].is_left, 1u);

  // What the repeated step finds for the second: rows that reach the raised bound.
  step.queries[1].num_found = 25;
  for (std::uint32_t i = 0; i < 25; ++i)
    step.found[kCapacity + i] = {57 + static_cast<double>(i) / 16, 1000 + i};
  const Step before = step;
  step.raise(true);
  EXPECT_EQ(step.must_repeat, (std::vector<std::uint32_t>{0, 0, 0}));
  expect_raised(before, step, 1);
  for (const std::size_t entry : {0, 2}) {
    EXPECT_EQ(step.queries[entry].kth_bound, before.queries[entry].kth_bound);
    EXPECT_EQ(step.queries[entry].num_found, before.queries[entry].num_found);
    EXPECT_EQ(step.queries[entry].is_left, before.queries[entry].is_left);
  }
}

}  // namespace
}  // namespace culmen::test
