#include "query/calibrate.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "culmen/device.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "index/floating_point_scope.h"
#include "index/with_threads.h"
#include "query/adaptive.h"
#include "query/bill.h"
#include "query/cost_model.h"
#include "query/far_table.h"
#include "query/forecast.h"
#include "query/measure_device.h"
#include "query/pace.h"
#include "query/resolve.h"
#include "query/sample_index.h"
#include "query/turns.h"

namespace culmen {
namespace {

constexpr std::size_t kNearRows = 12'288;  // 400 KB of eight attributes: a core's own cache
constexpr std::size_t kSomeRows = 32'000;  // two threads' scan of which is hardly worth it
constexpr std::size_t kManyRows = 150'000;
constexpr std::size_t kLargeRows = 500'000;  // 16 MB
constexpr int kFewDims = 2, kDims = 8, kManyRowsDims = 4;

constexpr int kPasses = 4;
constexpr Turns::Shape kFewRuns = {.runs = 2}, kSomePasses = {.warm_ups = kPasses, .runs = 2};

enum class Signs { positive, mixed };

// Weights on the first attributes, no two alike.
Query make_query(int dims, int num_terms, std::size_t k, Signs signs = Signs::positive) {
  Query query{.weights = std::vector<double>(static_cast<std::size_t>(dims), 0.0), .k = k};
  for (int i = 0; i < num_terms; ++i)
    query.weights[static_cast<std::size_t>(i)] =
        (signs == Signs::mixed && i % 2 == 1 ? -1 : 1) / (static_cast<double>(i) + 1.3);
  return query;
}

Bill bill_of(Engine engine, const Work& work, Threads threads) {
  if (engine == Engine::bounded) return bounded_bill(work);
  return engine == Engine::scan ? scan_bill(work, threads) : gta_bill(work, threads);
}

// Times whole searches by every engine, whose work their own counters tell, and reading; the bills then tell
// what a unit of each work costs.
class Calibrator {
 public:
  Calibrator() {
    add_base();
    for (const Index* index : {&few_, &near_}) add_searches(*index);
    add_ties();
    add_bounds();
    add_many_rows();
    if (all_threads_ > 1) add_sharing();
    add_reading_of_caches();
    add_reading(kReadSizes[1], FarTable::Order::any, kFarRead, 1);
    for (const std::size_t size : {kReadSizes[2], kReadSizes[3]}) {
      add_reading(size, FarTable::Order::any, kFarRead, 1);
      add_reading(size, FarTable::Order::ascending, kStreamRead, 1);
      if (all_threads_ > 1) add_reading(size, FarTable::Order::ascending, kSharedRead, all_threads_);
    }
  }

  MeasuredCosts run() {
    const bool all_agree = turns_.run();
    std::vector<PaidBill> paid;
    for (const auto& [work, bill] : bills_) paid.push_back({bill, turns_.ns(work)});
    MachineCosts costs = fit_costs(paid);
    costs.pace_ns = turns_.ns(pace_);
    return {costs, all_agree && all_threads_came(), {}};
  }

 private:
  std::size_t add(std::function<void()> work, const Bill& bill, Turns::Shape shape) {
    const std::size_t number = turns_.add(std::move(work), shape);
    bills_.emplace_back(number, bill);
    return number;
  }

  // The answer is thrown away each time, as by a caller.
  std::size_t add_search(const Index& index, const Query& query, Engine engine, int threads = 1,
                         Turns::Shape shape = {}) {
    if (threads > 1) shape.quick = kTogether;
    const SearchOptions options = {.engine = engine, .num_threads = threads};
    // Which thread does what is chance, and with it how much there is to do.
    const int counted = threads == 1 ? 1 : 16;
    Bill bill;
    for (int i = 0; i < counted; ++i) {
      const SearchResult result = index.search(query, options);
      const Work work = counted_work(*result.snapshot, resolve(query, *result.snapshot), result.stats,
                                     static_cast<double>(result.hits.size()));
      bill.add(bill_of(engine, work, sharing_threads(*result.snapshot, threads)), 1.0 / counted);
    }
    return add([&index, query, options] { static_cast<void>(index.search(query, options)); }, bill, shape);
  }

  void add_by_every_engine(const Index& index, const Query& query, Turns::Shape shape = {}) {
    for (const Engine engine : {Engine::bounded, Engine::scan, Engine::gta})
      add_search(index, query, engine, 1, shape);
  }

  void add_base() { add_by_every_engine(one_, make_query(kDims, kFewDims, 1)); }

  void add_searches(const Index& index) {
    const int dims = static_cast<int>(index.info().attributes.size());
    for (const std::size_t k : {1, 4, 16, 64, 256, 1024, 4096}) {
      add_by_every_engine(index, make_query(dims, dims, k));
      add_by_every_engine(index, make_query(dims, dims, k, Signs::mixed));
      if (dims > kFewDims) add_by_every_engine(index, make_query(dims, dims / 2, k));
    }
  }

  // All leaves but the first can only tie; in a scan every row reaches the best in vain.
  void add_ties() { add_by_every_engine(equal_, make_query(kDims, kDims, 1)); }

  // Searches with different numbers of attributes and ranges: nodes that are opened in vain.
  void add_bounds() {
    const std::vector<Filter> filters = {
        {}, {{0, 0.1, 0.9}}, {{0, 0.45, 0.55}}, {{0, 0.3, 1.0}, {1, 0.2, 0.6}}};
    for (const Index* index : {&some_, &many_}) {
      const int dims = static_cast<int>(index->info().attributes.size());
      for (const Signs signs : {Signs::positive, Signs::mixed})
        for (const std::size_t k : {1, 32})
          for (const Filter& where : filters)
            for (int num_terms = 1; num_terms <= dims; num_terms *= 2) {
              Query query = make_query(dims, num_terms, k, signs);
              query.where = where;
              add_search(*index, query, Engine::bounded);
            }
    }
    for (const Filter& where : filters) {
      Query query = make_query(kDims, kDims, 16, Signs::mixed);
      query.where = where;
      add_by_every_engine(near_, query);
    }
  }

  void add_many_rows() {
    for (const std::size_t k : {1, 64, 1024})
      add_by_every_engine(many_, make_query(kManyRowsDims, kManyRowsDims, k));
    for (const Engine engine : {Engine::bounded, Engine::scan})
      add_search(many_, make_query(kManyRowsDims, kManyRowsDims, 65'536), engine, 1, kFewRuns);
  }

  void add_sharing() {
    for (const Index* index : {&some_, &many_}) {
      const int dims = static_cast<int>(index->info().attributes.size());
      for (const Signs signs : {Signs::positive, Signs::mixed})
        for (const std::size_t k : {1, 16, 256})
          for (const Engine engine : {Engine::scan, Engine::gta})
            add_search(*index, make_query(dims, dims, k, signs), engine, all_threads_, kFewRuns);
    }
    const Query query = make_query(kManyRowsDims, kManyRowsDims, 1);
    alone_ = add_search(many_, query, Engine::scan, 1, {.quick = kTogether});  // by one quantile
    together_ = add_search(many_, query, Engine::scan, all_threads_);
  }

  // Up to 16 MiB that searches read, which some cache may hold: after some passes, since caches that had to
  // do with more than they hold keep only part of what comes next.
  void add_reading_of_caches() {
    for (const int num_terms : {kFewDims, kDims / 2, kDims}) {
      for (const std::size_t k : {1, 256, 4096})
        add_search(large_, make_query(kDims, num_terms, k, Signs::mixed), Engine::bounded, 1, kSomePasses);
      add_search(large_, make_query(kDims, num_terms, 1), Engine::scan, 1, kSomePasses);
      if (all_threads_ > 1)
        add_search(large_, make_query(kDims, num_terms, 1), Engine::scan, all_threads_, kSomePasses);
    }
  }

  // A tenth of a millisecond; by all threads longer, since the others come late.
  static std::size_t leaves_of_a_run(int threads) {
    return threads == 1 ? 256 : 1024 * static_cast<std::size_t>(threads);
  }

  // Goes round and round in a table of each size, some leaves of each thread a run. One that fits a cache
  // is there when the clock starts: after some passes, since caches that had to do with more than they hold
  // keep only part of what comes next.
  void add_reading(std::size_t size, FarTable::Order order, const ReadCosts& costs, int threads) {
    const auto leaves = far_.leaves(order).first(size / far_.leaf_bytes());
    const std::size_t step = std::min(leaves_of_a_run(threads), leaves.size());
    const bool may_fit = size < kReadSizes.back();
    const Turns::Shape shape = {.warm_ups = may_fit ? static_cast<int>(kPasses * leaves.size() / step) : 1,
                                .runs = 16,
                                .quick = threads > 1 ? kTogether : kAlone};
    const std::size_t ahead = order == FarTable::Order::ascending ? 2 : 1;
    const auto visit = threads == 1 ? &FarTable::visit : &FarTable::visit_by_all_threads;
    for (const int num_terms : {kFewDims, kDims}) {
      Query query = make_query(kDims, num_terms, 1);
      query.min_score = std::numeric_limits<double>::max();
      Bill bill = reading_bill(step, num_terms, threads);
      const double rows = static_cast<double>(far_.rows(step));
      charge_reading(costs, static_cast<double>(size), static_cast<double>(step),
                     rows * num_terms * sizeof(float), 1, bill);
      add(
          [this, leaves, step, ahead, visit, resolved = resolve(query, *near_snapshot_),
           at = std::size_t{0}]() mutable {
            if (at + step > leaves.size()) at = 0;
            (far_.*visit)(leaves.subspan(at, step), ahead, resolved);
            at += step;
          },
          bill, shape);
    }
  }

  // What is computed beside the reading.
  Bill reading_bill(std::size_t leaves, int num_terms, int threads) const {
    Bill bill;
    bill.charge(&MachineCosts::scan_leaf_ns, static_cast<double>(leaves) / threads);
    bill.charge(&MachineCosts::value_ns, static_cast<double>(far_.rows(leaves)) * num_terms / threads);
    bill.charge(&MachineCosts::fork_ns, 1 - 1.0 / threads);
    return bill;
  }

  // Where others keep the processors busy, one thread may do the work of all.
  bool all_threads_came() const {
    constexpr double kCame = 0.9;
    return all_threads_ == 1 || turns_.ns(together_) < kCame * turns_.ns(alone_);
  }

  const int all_threads_ = threads_of(0);
  const Index one_ = sample_index(1, kDims), few_ = sample_index(kNearRows, kFewDims),
              near_ = sample_index(kNearRows, kDims),
              equal_ = sample_index(kNearRows, kDims, SampleValues::all_equal),
              some_ = sample_index(kSomeRows, kDims), many_ = sample_index(kManyRows, kManyRowsDims),
              large_ = sample_index(kLargeRows, kDims);
  const std::shared_ptr<const Snapshot> near_snapshot_ =
      near_.search(make_query(kDims, kDims, 1), {.engine = Engine::bounded}).snapshot;
  const FarTable far_{*near_snapshot_};

  Turns turns_;
  std::vector<std::pair<std::size_t, Bill>> bills_;  // of works, by their number
  const std::size_t pace_ = turns_.add(pace_work());
  std::size_t alone_ = 0, together_ = 0;  // the same scan, by one thread and by all
};

}  // namespace

MeasuredCosts measure_costs() {
  const FloatingPointScope floating_point;
  MeasuredCosts measured = Calibrator().run();
  if (num_devices() > 0) try {
      measured.device = measure_device_costs(0);
    } catch (const Error&) {  // it may be full: the built-in constants will do
    }
  return measured;
}

}  // namespace culmen
