#include "query/calibrate.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "cpu/bounded.h"
#include "cpu/frontier.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_ranges.h"
#include "culmen/device.h"
#include "culmen/error.h"
#include "index/bulk_load.h"
#include "index/floating_point_scope.h"
#include "index/with_threads.h"
#include "query/adaptive.h"
#include "query/measure_device.h"
#include "query/resolve.h"
#include "query/turns.h"

namespace culmen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kDims = 8;
constexpr int kFewTerms = 2;
constexpr std::size_t kNearRows = 12'288;  // 400 KB: a core's own cache
constexpr int kSearches = 20;

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

// A full heap that is offered hits of slowly rising scores, so that many take a place.
class RisingHits {
 public:
  explicit RisingHits(std::size_t k) : k_(k), heap_(k, -kInfinity) {
    std::mt19937_64 random(2);
    for (double& score : scores_) score = std::uniform_real_distribution<double>(0, 1)(random);
    offer(k);
  }

  void offer(std::size_t count) {
    for (const std::size_t end = next_ + count; next_ < end; ++next_)
      heap_.offer({static_cast<std::int64_t>(next_),
                   scores_[next_ % scores_.size()] + static_cast<double>(next_) / static_cast<double>(k_),
                   next_});
  }

  // Of the hits offered after the first k.
  double part_that_entered() const {
    return static_cast<double>(std::max<std::uint64_t>(heap_.num_replacements(), 1)) /
           static_cast<double>(next_ - k_);
  }

 private:
  std::size_t k_;
  std::size_t next_ = 0;
  TopK heap_;
  std::array<double, 4099> scores_{};
};

// Works of one kind, for each size of table that reading is measured for.
using Reading = std::array<std::size_t, kReadSizes.size()>;

// The works are chosen where they are declared, below; run() times them and takes them apart.
class MachineMeasurement {
 public:
  MeasuredCosts run() {
    const bool all_agree = turns_.run();
    set_leaf_costs();
    set_node_costs();
    set_heap_costs();
    costs_.fork_ns = std::max(0.0, turns_.ns(fork_) - forked_ns());
    set_reading_costs(far_few_, far_many_, 1, kFarRead);
    set_reading_costs(stream_few_, stream_many_, 1, kStreamRead);
    set_reading_costs(shared_few_, shared_many_, threads_, kSharedRead);
    return {costs_, all_agree && all_threads_came(), {}};
  }

 private:
  static std::vector<std::uint32_t> shuffled_leaves(const Snapshot& snapshot) {
    std::vector<std::uint32_t> leaves = snapshot.order().leaves;
    std::mt19937_64 random(3);
    std::shuffle(leaves.begin(), leaves.end(), random);
    return leaves;
  }

  void visit_near(const ResolvedQuery& query) const {
    SearchStats stats;
    TopK best(1, query.min_score);
    for (const std::uint32_t leaf : near_leaves_) visit_leaf<float>(*near_, query, leaf, best, stats);
  }

  std::size_t add_visits(int num_terms) {
    return turns_.add([this, query = make_query(*near_, num_terms, 1, true)] { visit_near(query); });
  }

  void open_all(const ResolvedQuery& query, Frontier& frontier) const {
    for (const std::uint32_t slot : near_->order().nodes) {
      Frontier::Bounds bounds;
      simd::child_bounds(near_->node(slot).bounds(), query.bound, bounds.data());
      frontier.open(near_->node(slot), bounds);
    }
  }

  std::size_t add_opening(int num_terms, bool and_taking) {
    return turns_.add([this, and_taking, query = make_query(*near_, num_terms, 1, false)] {
      Frontier frontier;
      open_all(query, frontier);
      while (and_taking && !frontier.empty()) frontier.take_top();
    });
  }

  std::size_t add_ranges() {
    ResolvedQuery query = make_query(*near_, kFewTerms, 1, false);
    resolve_filter({{0, 0.1, 0.9}, {1, 0.1, 0.9}}, *near_, query);
    return turns_.add([this, query] {
      Frontier::Bounds bounds{};
      for (const std::uint32_t slot : near_->order().nodes)
        leave_out_misses(query.bound, near_->node(slot), bounds);
      sink_ = static_cast<int>(bounds[0] < 0);
    });
  }

  std::size_t add_corners() {
    return turns_.add([this, query = make_query(*near_, kDims, 1, true)] {
      double highest = -kInfinity;
      for (const std::uint32_t leaf : near_leaves_)
        highest = std::max(
            highest, corner_score<float>(*near_, query, leaf, Corner::later_maximum, Corner::later_minimum));
      sink_ = static_cast<int>(highest);
    });
  }

  // A whole search, by a query that is resolved anew each time.
  std::size_t add_searches() {
    return turns_.add([this] {
      SearchStats stats;
      for (int i = 0; i < kSearches; ++i)
        cpu::search_bounded(*one_, make_query(*one_, kFewTerms, 1, false), stats);
    });
  }

  // All leaves but the first can only tie.
  std::size_t add_tied_search() {
    return turns_.add([this, query = make_query(*equal_, kDims, 1, false)] {
      SearchStats stats;
      cpu::search_bounded(*equal_, query, stats);
    });
  }

  // Scoring rows and offering them to a heap for the k best; `stats` says what happened there.
  std::size_t add_offers(const Snapshot& snapshot, const std::vector<std::uint32_t>& leaves, std::size_t k,
                         SearchStats& stats) {
    return turns_.add([&snapshot, &leaves, &stats, k, query = make_query(snapshot, kDims, 1, false)] {
      stats = {};
      TopK best(k, -kInfinity);
      for (const std::uint32_t leaf : leaves) visit_leaf<float>(snapshot, query, leaf, best, stats);
      stats.replacements = best.num_replacements();
    });
  }

  std::size_t add_rising(RisingHits& hits) {
    return turns_.add([&hits] { hits.offer(kOffers); });
  }

  std::size_t add_sort() {
    return turns_.add([] {
      TopK heap(kSorted, -kInfinity);
      for (std::size_t i = 0; i < kSorted; ++i)
        heap.offer({static_cast<std::int64_t>(i), static_cast<double>(i * 2'654'435'761U % 1'048'573), i});
      heap.take_sorted();
    });
  }

  // The same work for each thread, long enough that all have come before the first has done it.
  std::size_t add_fork() {
    return turns_.add(
        [this, query = make_query(*near_, kDims, 1, true)] {
          with_threads(0, [&] {
            tbb::parallel_for(
                0, threads_,
                [&](int) {
                  for (int i = 0; i < kForkedVisits; ++i) visit_near(query);
                },
                tbb::simple_partitioner());
          });
        },
        {.quick = kTogether});
  }

  // As an engine sees a table of so many leaves. What stands in it does not matter: no row is good enough.
  std::unique_ptr<const Snapshot> make_far_table() const {
    auto table = std::make_unique<Snapshot>();
    const BlockShape shape = near_->block_shape();
    const std::size_t num_leaves = kReadSizes.back() / shape.leaf_bytes();
    table->attributes = near_->attributes;
    table->layout = near_->layout;
    table->block_rows = near_->block_rows;
    table->blocks = std::make_shared<Blocks>(shape, table->layout, num_leaves, 0);
    for (std::size_t leaf = 0; leaf < num_leaves; ++leaf) {
      table->blocks->leaf(leaf).num_rows = static_cast<std::uint32_t>(shape.block_rows);
      std::fill_n(reinterpret_cast<float*>(table->blocks->values(leaf)),
                  shape.num_attributes * shape.block_rows, 0.5F);
    }
    return table;
  }

  void visit_far(std::span<const std::uint32_t> leaves, const ResolvedQuery& query) const {
    constexpr std::size_t kAhead = 2;
    SearchStats stats;
    TopK best(1, query.min_score);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (i + kAhead < leaves.size()) prefetch_leaf<float>(*far_, query, leaves[i + kAhead]);
      visit_leaf<float>(*far_, query, leaves[i], best, stats);
    }
  }

  void visit_far_together(std::span<const std::uint32_t> leaves, const ResolvedQuery& query) const {
    constexpr std::size_t kGrain = 32;
    with_threads(0, [&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, leaves.size(), kGrain), [&](const auto& range) {
        visit_far(leaves.subspan(range.begin(), range.size()), query);
      });
    });
  }

  std::vector<std::uint32_t> far_leaves(bool in_order) const {
    std::vector<std::uint32_t> leaves(far_->blocks->leaf_slots());
    std::iota(leaves.begin(), leaves.end(), 0U);
    std::mt19937_64 random(4);
    if (!in_order) std::shuffle(leaves.begin(), leaves.end(), random);
    return leaves;
  }

  // A tenth of a millisecond; by all threads longer, since the others come late.
  static std::size_t leaves_of_a_run(int threads) {
    return threads == 1 ? 256 : 1024 * static_cast<std::size_t>(threads);
  }

  using Visit = void (MachineMeasurement::*)(std::span<const std::uint32_t>, const ResolvedQuery&) const;

  // Goes round and round in a table of each size, some leaves of each thread a run. One that fits a cache
  // is there when the clock starts.
  Reading add_reading(const std::vector<std::uint32_t>& order, Visit visit, int threads, int num_terms) {
    Reading works{};
    const std::size_t step = leaves_of_a_run(threads);
    for (std::size_t s = 0; s < works.size(); ++s) {
      const std::size_t num_leaves = std::max(kReadSizes[s] / near_->block_shape().leaf_bytes(), step);
      const bool may_fit = s + 1 < works.size();
      works[s] = turns_.add(
          [this, &order, visit, step, num_leaves, query = make_query(*near_, num_terms, 1, true),
           at = std::size_t{0}]() mutable {
            if (at + step > num_leaves) at = 0;
            (this->*visit)(std::span(order).subspan(at, step), query);
            at += step;
          },
          {.warm_ups = may_fit ? static_cast<int>(num_leaves / step) : 1,
           .runs = 16,
           .quick = threads > 1 ? kTogether : kAlone});
    }
    return works;
  }

  void set_leaf_costs() {
    const double rows = static_cast<double>(near_->num_tuples),
                 leaves = static_cast<double>(near_->num_leaves);
    const LinearCost cost =
        through(kFewTerms * rows, turns_.ns(visit_few_), kDims * rows, turns_.ns(visit_many_));
    costs_.value_ns = cost.each;
    costs_.leaf_ns = cost.rest / leaves;
    costs_.corner_ns = turns_.ns(corners_) / leaves;
  }

  void set_node_costs() {
    const double nodes = static_cast<double>(near_->num_nodes),
                 leaves = static_cast<double>(near_->num_leaves);
    const double open = turns_.ns(open_many_);
    const LinearCost cost = through(kFewTerms * nodes, turns_.ns(open_few_), kDims * nodes, open);
    costs_.bound_ns = cost.each;
    costs_.take_ns = std::max(0.0, turns_.ns(take_all_) - open) / (leaves + nodes);
    costs_.node_ns = cost.rest / nodes + costs_.take_ns;
    costs_.range_ns = turns_.ns(ranges_) / (2 * nodes);
    costs_.search_ns = turns_.ns(search_one_) / kSearches;
    const double opened = static_cast<double>(equal_->num_nodes) * (costs_.node_ns + kDims * costs_.bound_ns);
    costs_.tied_ns =
        std::max(0.0, turns_.ns(search_equal_) - opened) / static_cast<double>(equal_->num_leaves);
  }

  // Rows as they come from leaves, less the visits and what every candidate costs.
  double entry_ns(std::size_t work, const SearchStats& stats) const {
    const double rest = turns_.ns(visit_many_) + costs_.candidate_ns * static_cast<double>(stats.candidates);
    return std::max(0.0, turns_.ns(work) - rest) / static_cast<double>(stats.replacements);
  }

  void set_heap_costs() {
    // Rows that all tie: each reaches the best, few take its place.
    costs_.candidate_ns = std::max(0.0, turns_.ns(offer_equal_) - turns_.ns(visit_many_)) /
                          static_cast<double>(offered_equal_.candidates);
    costs_.replace_16_ns = entry_ns(offer_16_, offered_16_);
    costs_.replace_256_ns = entry_ns(offer_256_, offered_256_);
    costs_.replace_4096_ns = entry_ns(offer_4096_, offered_4096_);
    // The table is smaller than a heap of so many: the heap alone has to tell how much dearer it is.
    costs_.replace_65536_ns = costs_.replace_4096_ns *
                              (turns_.ns(rise_65536_) / rising_65536_.part_that_entered()) /
                              (turns_.ns(rise_4096_) / rising_4096_.part_that_entered());
    costs_.sort_ns = turns_.ns(sort_) / (static_cast<double>(kSorted) * std::log2(kSorted));
  }

  // By the quantile of the forked work: with another, a change of the processor's speed would be its cost.
  double forked_ns() const { return kForkedVisits * turns_.ns(visit_many_, kTogether); }

  // Where others keep the processors busy, one thread may do the work of all.
  bool all_threads_came() const { return threads_ == 1 || costs_.fork_ns < forked_ns() / 2; }

  // Beside computing, of a leaf that each of `threads` reads meanwhile.
  double beside_computing_ns(std::size_t work, int num_terms, int threads) const {
    const double values = static_cast<double>(near_->block_rows) * num_terms;
    const double computing = costs_.leaf_ns + values * costs_.value_ns;
    const double fork = threads > 1 ? costs_.fork_ns * (1 - 1.0 / threads) : 0;
    const double leaves = static_cast<double>(leaves_of_a_run(threads));
    return std::max(0.0, (turns_.ns(work) - fork) / leaves - computing / threads);
  }

  void set_reading_costs(const Reading& few, const Reading& many, int threads, const ReadCosts& costs) {
    const double column_kb = static_cast<double>(near_->block_rows) * sizeof(float) / 1024;
    for (std::size_t s = 0; s < few.size(); ++s) {
      const LinearCost cost = through(kFewTerms * column_kb, beside_computing_ns(few[s], kFewTerms, threads),
                                      kDims * column_kb, beside_computing_ns(many[s], kDims, threads));
      costs_.*costs.kb[s] = cost.each;
      costs_.*costs.leaf[s] = cost.rest;
    }
  }

  static constexpr std::size_t kSorted = 4096;
  static constexpr std::size_t kOffers = 512;
  static constexpr int kForkedVisits = 8;

  MachineCosts costs_;
  std::atomic<int> sink_ = 0;
  Turns turns_;
  const int threads_ = threads_of(0);

  const std::shared_ptr<const Snapshot> near_ = make_index(kNearRows, false);
  const std::shared_ptr<const Snapshot> equal_ = make_index(kNearRows, true);
  const std::shared_ptr<const Snapshot> one_ = make_index(1, false);
  const std::vector<std::uint32_t> near_leaves_ = shuffled_leaves(*near_);
  const std::size_t visit_few_ = add_visits(kFewTerms), visit_many_ = add_visits(kDims);
  const std::size_t open_few_ = add_opening(kFewTerms, false), open_many_ = add_opening(kDims, false);
  const std::size_t take_all_ = add_opening(kDims, true);
  const std::size_t ranges_ = add_ranges();
  const std::size_t search_one_ = add_searches(), search_equal_ = add_tied_search();

  const std::size_t corners_ = add_corners();

  SearchStats offered_equal_, offered_16_, offered_256_, offered_4096_;
  const std::size_t offer_equal_ = add_offers(*equal_, equal_->order().leaves, 1, offered_equal_);
  const std::size_t offer_16_ = add_offers(*near_, near_leaves_, 16, offered_16_);
  const std::size_t offer_256_ = add_offers(*near_, near_leaves_, 256, offered_256_);
  const std::size_t offer_4096_ = add_offers(*near_, near_leaves_, 4096, offered_4096_);
  RisingHits rising_4096_{4096}, rising_65536_{65536};
  const std::size_t rise_4096_ = add_rising(rising_4096_), rise_65536_ = add_rising(rising_65536_);
  const std::size_t sort_ = add_sort();
  const std::size_t fork_ = add_fork();

  const std::unique_ptr<const Snapshot> far_ = make_far_table();
  const std::vector<std::uint32_t> in_order_ = far_leaves(true), in_disorder_ = far_leaves(false);
  const Reading stream_few_ = add_reading(in_order_, &MachineMeasurement::visit_far, 1, kFewTerms);
  const Reading stream_many_ = add_reading(in_order_, &MachineMeasurement::visit_far, 1, kDims);
  const Reading shared_few_ =
      add_reading(in_order_, &MachineMeasurement::visit_far_together, threads_, kFewTerms);
  const Reading shared_many_ =
      add_reading(in_order_, &MachineMeasurement::visit_far_together, threads_, kDims);
  const Reading far_few_ = add_reading(in_disorder_, &MachineMeasurement::visit_far, 1, kFewTerms);
  const Reading far_many_ = add_reading(in_disorder_, &MachineMeasurement::visit_far, 1, kDims);
};

}  // namespace

MeasuredCosts measure_costs() {
  const FloatingPointScope floating_point;
  MeasuredCosts measured = MachineMeasurement().run();
  if (num_devices() > 0) try {
      measured.device = measure_device_costs(0);
    } catch (const Error&) {  // it may be full: the built-in constants will do
    }
  return measured;
}

}  // namespace culmen
