#include "query/calibrate.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "cpu/bounded.h"
#include "cpu/frontier.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_ranges.h"
#include "cpu/scan.h"
#include "index/bulk_load.h"
#include "index/floating_point_scope.h"
#include "index/with_threads.h"
#include "query/resolve.h"

namespace culmen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kDims = 8;
constexpr int kFewTerms = 2;
constexpr std::size_t kNearRows = 12'288;    // 400 KB: a core's own cache
constexpr std::size_t kFarBytes = 64 << 20;  // more than caches hold
constexpr std::size_t kWarmBytes = 8 << 20;  // more than a core's own, less than what cores share

// Nanoseconds of one of the `count` things that `work` does: the median of several runs.
template <typename Measured>
double median_ns(double count, const Measured& work) {
  using Clock = std::chrono::steady_clock;
  std::array<double, 15> runs{};
  for (double& run : runs) {
    const Clock::time_point start = Clock::now();
    work();
    run = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }
  std::nth_element(runs.begin(), runs.begin() + runs.size() / 2, runs.end());
  return runs[runs.size() / 2] / count;
}

std::shared_ptr<const Snapshot> make_index(std::size_t num_rows, bool all_equal) {
  std::mt19937_64 random(1);
  std::vector<float> values(num_rows * kDims, 0.3F);
  if (!all_equal)
    for (float& value : values) value = static_cast<float>(random() >> 40) * 0x1p-24F;
  std::vector<Attribute> attributes;
  for (int i = 0; i < kDims; ++i) attributes.push_back({std::string(1, static_cast<char>('a' + i))});
  return bulk_load(row_major_table(std::span<const float>(values), std::move(attributes)), {});
}

// A query with weights on the first attributes, no two alike, that no row satisfies if `hopeless`.
ResolvedQuery make_query(const Snapshot& snapshot, int num_terms, std::size_t k, bool hopeless) {
  Query query{.weights = std::vector<double>(kDims, 0.0), .k = k};
  for (int i = 0; i < num_terms; ++i) query.weights[static_cast<std::size_t>(i)] = 1.0 / (i + 1.3);
  if (hopeless) query.min_score = std::numeric_limits<double>::max();
  return resolve(query, snapshot);
}

struct LinearCost {
  double each;  // of each more
  double rest;
};

LinearCost through(double few, double at_few, double many, double at_many) {
  const double each = std::max(0.0, (at_many - at_few) / (many - few));
  return {each, std::max(0.0, at_few - few * each)};
}

class Calibration {
 public:
  MachineCosts run() {
    measure_leaves();
    measure_nodes();
    measure_searches();
    measure_heap();
    measure_memory();
    measure_fork();
    return costs_;
  }

 private:
  double visit_ns(int num_terms) {
    const ResolvedQuery query = make_query(*near_, num_terms, 1, true);
    return median_ns(static_cast<double>(near_leaves_.size()), [&] {
      SearchStats stats;
      TopK best(1, query.min_score);
      for (const std::uint32_t leaf : near_leaves_) visit_leaf<float>(*near_, query, leaf, best, stats);
    });
  }

  static std::vector<std::uint32_t> shuffled_leaves(const Snapshot& snapshot) {
    std::vector<std::uint32_t> leaves = snapshot.order().leaves;
    std::mt19937_64 random(3);
    std::shuffle(leaves.begin(), leaves.end(), random);
    return leaves;
  }

  void measure_leaves() {
    const double rows = static_cast<double>(near_->num_tuples) / static_cast<double>(near_->num_leaves);
    const LinearCost cost = through(kFewTerms * rows, visit_ns(kFewTerms), kDims * rows, visit_ns(kDims));
    costs_.value_ns = cost.each;
    costs_.leaf_ns = cost.rest;  // and taking it from the frontier, added below
  }

  double open_ns(int num_terms) {
    const ResolvedQuery query = make_query(*near_, num_terms, 1, false);
    const std::vector<std::uint32_t>& nodes = near_->order().nodes;
    return median_ns(static_cast<double>(nodes.size()), [&] {
      Frontier frontier;
      for (const std::uint32_t slot : nodes) {
        Frontier::Bounds bounds;
        simd::child_bounds(near_->node(slot).bounds(), query.bound, bounds.data());
        frontier.open(near_->node(slot), bounds);
      }
    });
  }

  // Opening all nodes and taking all their children, less the opening.
  double take_ns(double open) {
    const ResolvedQuery query = make_query(*near_, kDims, 1, false);
    const std::vector<std::uint32_t>& nodes = near_->order().nodes;
    const double all = median_ns(1, [&] {
      Frontier frontier;
      for (const std::uint32_t slot : nodes) {
        Frontier::Bounds bounds;
        simd::child_bounds(near_->node(slot).bounds(), query.bound, bounds.data());
        frontier.open(near_->node(slot), bounds);
      }
      while (!frontier.empty()) frontier.take_top();
    });
    return std::max(0.0, all - open * static_cast<double>(nodes.size())) /
           static_cast<double>(near_->num_leaves + nodes.size());
  }

  double range_ns() {
    ResolvedQuery query = make_query(*near_, kFewTerms, 1, false);
    resolve_filter({{0, 0.1, 0.9}, {1, 0.1, 0.9}}, *near_, query);
    const std::vector<std::uint32_t>& nodes = near_->order().nodes;
    Frontier::Bounds bounds{};
    return median_ns(2 * static_cast<double>(nodes.size()), [&] {
      for (const std::uint32_t slot : nodes) leave_out_misses(query.bound, near_->node(slot), bounds);
      sink_ = static_cast<int>(bounds[0] < 0);
    });
  }

  void measure_nodes() {
    costs_.range_ns = range_ns();
    const double at_many = open_ns(kDims);
    const LinearCost cost = through(kFewTerms, open_ns(kFewTerms), kDims, at_many);
    costs_.bound_ns = cost.each;
    const double take = take_ns(at_many);
    costs_.node_ns = cost.rest + take;
    costs_.leaf_ns += take;
  }

  // Whole searches: one that finds its row at once, and one in which all leaves but the first can only tie.
  void measure_searches() {
    const std::shared_ptr<const Snapshot> one = make_index(1, false);
    SearchStats stats;
    constexpr int kSearches = 100;
    costs_.search_ns = median_ns(kSearches, [&] {
      for (int i = 0; i < kSearches; ++i)
        cpu::search_bounded(*one, make_query(*one, kFewTerms, 1, false), stats);
    });
    const std::shared_ptr<const Snapshot> equal = make_index(kNearRows, true);
    const ResolvedQuery query = make_query(*equal, kDims, 1, false);
    costs_.tied_ns =
        median_ns(static_cast<double>(equal->num_leaves), [&] { cpu::search_bounded(*equal, query, stats); });
    measure_candidates(*equal);
  }

  // Scoring all rows and offering them to a heap for the k best; counts what happened there.
  double offer_ns(const Snapshot& snapshot, std::span<const std::uint32_t> leaves, std::size_t k,
                  SearchStats& stats) const {
    const ResolvedQuery query = make_query(snapshot, kDims, 1, false);
    return median_ns(1, [&] {
      stats = {};
      TopK best(k, -kInfinity);
      for (const std::uint32_t leaf : leaves) visit_leaf<float>(snapshot, query, leaf, best, stats);
      stats.replacements = best.num_replacements();
    });
  }

  // Rows that all tie: each reaches the best, few take its place.
  void measure_candidates(const Snapshot& equal) {
    SearchStats stats;
    const double all = offer_ns(equal, equal.order().leaves, 1, stats);
    const double visits = visit_ns(kDims) * static_cast<double>(equal.num_leaves);
    costs_.candidate_ns = std::max(0.0, all - visits) / static_cast<double>(stats.candidates);
  }

  // Rows as they come from leaves, less the visits and what every candidate costs.
  double entry_ns(std::size_t k) {
    SearchStats stats;
    const double all = offer_ns(*near_, near_leaves_, k, stats);
    const double rest = visit_ns(kDims) * static_cast<double>(near_leaves_.size()) +
                        costs_.candidate_ns * static_cast<double>(stats.candidates);
    return std::max(0.0, all - rest) / static_cast<double>(stats.replacements);
  }

  // The same from the heap alone, for heaps larger than the table. Every hit is better than most before it,
  // so that it takes a place.
  double replacement_ns(std::size_t k) {
    std::vector<Hit> hits(std::max<std::size_t>(2 * k, 4096));
    for (std::size_t i = 0; i < hits.size(); ++i)
      hits[i] = {static_cast<std::int64_t>(i), uniform() + static_cast<double>(i) / static_cast<double>(k),
                 i};
    double best = kInfinity;
    for (int run = 0; run < 3; ++run) {
      TopK heap(k, -kInfinity);
      for (std::size_t i = 0; i < k; ++i) heap.offer(hits[i]);
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t i = k; i < hits.size(); ++i) heap.offer(hits[i]);
      const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
      best = std::min(
          best, elapsed.count() / static_cast<double>(std::max<std::uint64_t>(heap.num_replacements(), 1)));
    }
    return best;
  }

  void measure_heap() {
    costs_.replace_16_ns = entry_ns(16);
    costs_.replace_256_ns = entry_ns(256);
    costs_.replace_4096_ns = entry_ns(4096);
    costs_.replace_65536_ns =
        costs_.replace_4096_ns * replacement_ns(65536) / std::max(1.0, replacement_ns(4096));
    constexpr std::size_t kSorted = 4096;
    constexpr double kDoublings = 12;
    std::vector<double> scores(kSorted);
    for (double& score : scores) score = uniform();
    costs_.sort_ns = median_ns(kSorted * kDoublings, [&] {
      TopK heap(kSorted, -kInfinity);
      for (std::size_t i = 0; i < kSorted; ++i) heap.offer({static_cast<std::int64_t>(i), scores[i], i});
      heap.take_sorted();
    });
  }

  // Leaves of a table far larger than a core's cache, in the order given.
  void visit_far(const std::vector<float>& values, std::span<const std::uint32_t> leaves,
                 const ResolvedQuery& query) const {
    const auto slots = static_cast<std::size_t>(near_->block_rows);
    std::vector<simd::ScoredRow> scored(slots);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (i + 1 < leaves.size())
        prefetch_bytes(values.data() + leaves[i + 1] * slots * kDims, slots * kDims * sizeof(float));
      simd::score_rows(values.data() + leaves[i] * slots * kDims, slots, static_cast<std::uint32_t>(slots),
                       query, query.min_score, scored.data());
    }
  }

  void measure_memory() {
    const std::vector<float> values(kFarBytes / sizeof(float), 0.5F);
    const ResolvedQuery query = make_query(*near_, kDims, 1, true);
    const double leaf_kb = static_cast<double>(near_->block_shape().leaf_bytes()) / 1024;
    std::vector<std::uint32_t> order(kFarBytes / near_->block_shape().leaf_bytes());
    std::iota(order.begin(), order.end(), 0U);
    const double kb = static_cast<double>(order.size()) * leaf_kb;
    costs_.stream_ns_per_kb = median_ns(kb, [&] { visit_far(values, order, query); });
    costs_.shared_stream_ns_per_kb = median_ns(kb, [&] {
      with_threads(0, [&] {
        tbb::parallel_for(tbb::blocked_range<std::size_t>(0, order.size(), 256), [&](const auto& range) {
          visit_far(values, std::span(order).subspan(range.begin(), range.size()), query);
        });
      });
    });
    order.resize(kWarmBytes / near_->block_shape().leaf_bytes());
    std::shuffle(order.begin(), order.end(), random_);
    const double near = near_->block_rows * kDims * costs_.value_ns;
    const double warm_kb = static_cast<double>(order.size()) * leaf_kb;
    costs_.far_leaf_ns_per_kb =
        std::max(0.0, median_ns(warm_kb, [&] { visit_far(values, order, query); }) - near / leaf_kb);
  }

  // Two tasks and more, each of which does nothing to speak of.
  void measure_fork() {
    const std::vector<int> nothing(64);
    costs_.fork_ns = median_ns(1, [&] {
      with_threads(0, [&] {
        tbb::parallel_for(std::size_t{0}, nothing.size(), [&](std::size_t i) { sink_ = nothing[i]; });
      });
    });
  }

  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  MachineCosts costs_;
  std::shared_ptr<const Snapshot> near_ = make_index(kNearRows, false);
  std::vector<std::uint32_t> near_leaves_ = shuffled_leaves(*near_);
  std::mt19937_64 random_{2};
  std::atomic<int> sink_ = 0;
};

}  // namespace

MachineCosts measure_costs() {
  const FloatingPointScope floating_point;
  return Calibration().run();
}

}  // namespace culmen
