#include "query/adaptive.h"

#include <algorithm>
#include <optional>

#include "cpu/bounded.h"
#include "cpu/parallel_topk.h"
#include "cpu/scan.h"
#include "cpu/topk.h"
#include "index/with_threads.h"
#include "query/cost_model.h"
#include "query/forecast.h"

namespace culmen {
namespace {

// The first look comes after this part of a thread's share of the leaves, within limits: some 10 to 60 us.
constexpr std::uint64_t kPart = 4, kLeastFirstLook = 32, kMostFirstLook = 192;
// A table of fewer leaves one thread reads whole before a look could save anything.
constexpr std::uint64_t kFewLeaves = 1024;
// What is left is counted (5 to 10 us) only when the search has taken this part of a scan's time.
constexpr double kWorthCounting = 0.125;
// What is left is known less well than what a scan takes, and part of the way is done.
constexpr double kDoubt = 1.25;

class HandOver : public cpu::Watch {
 public:
  HandOver(const Snapshot& snapshot, const ResolvedQuery& query, Threads threads, MachineCosts (*costs)())
      : snapshot_(snapshot), query_(query), threads_(threads), current_costs_(costs) {}

  std::uint64_t first_look() const override {
    if (has_few_leaves() && threads_.used == 1) return kNever;
    const auto share = snapshot_.num_leaves / static_cast<std::uint64_t>(threads_.used);
    return std::clamp(share / kPart, kLeastFirstLook, kMostFirstLook);
  }

  std::uint64_t look(const cpu::Progress& progress) override {
    if (least_scan_us_ < 0) ask_for_costs();
    return is_hopeless(progress) ? 0 : 2 * progress.visits();
  }

 private:
  void ask_for_costs() {
    costs_ = current_costs_();
    Work reading = forecast_scan(snapshot_, query_, 1, threads_.used);
    reading.candidates = reading.replacements = reading.hits = 0;
    least_scan_us_ = scan_us(reading);
  }

  bool has_few_leaves() const { return snapshot_.num_leaves < kFewLeaves; }
  double scan_us(const Work& work) const { return culmen::scan_us(work, costs_, threads_); }

  // From the cheapest question to the dearest: what the scan's rows will do depends on a sample of the table.
  bool is_hopeless(const cpu::Progress& progress) {
    const double so_far =
        bounded_us(counted_work(snapshot_, query_, progress.stats, static_cast<double>(query_.k)), costs_);
    if (so_far < kWorthCounting * least_scan_us_) return false;
    const double left = bounded_us(forecast_bounded(snapshot_, query_, progress), costs_) - so_far;
    if (left < kDoubt * least_scan_us_) return false;
    return left > kDoubt * scan_us(forecast_scan(snapshot_, query_, selectivity(), threads_.used));
  }

  // Once. Asking costs as much as scanning a small table, whose rows are all taken to pass.
  double selectivity() {
    if (has_few_leaves()) return 1;
    if (!selectivity_) selectivity_ = estimate_selectivity(snapshot_, query_);
    return *selectivity_;
  }

  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  const Threads threads_;
  MachineCosts (*const current_costs_)();
  MachineCosts costs_;
  double least_scan_us_ = -1;  // of reading alone; not asked for yet
  std::optional<double> selectivity_;
};

std::vector<Hit> scan(const Snapshot& snapshot, const ResolvedQuery& query, int num_threads,
                      SearchStats& stats) {
  stats.engine = Engine::scan;
  return with_threads(num_threads, [&] { return cpu::search_scan(snapshot, query, stats); });
}

}  // namespace

Threads sharing_threads(const Snapshot& snapshot, int num_threads) {
  const int threads = threads_of(num_threads);
  return {snapshot.num_leaves <= kLeavesPerTask ? 1 : threads, threads_of(0)};
}

std::vector<Hit> search_adaptive(const Snapshot& snapshot, const ResolvedQuery& query, int num_threads,
                                 SearchStats& stats, MachineCosts (*costs)()) {
  stats.engine = Engine::bounded;
  HandOver watch(snapshot, query, sharing_threads(snapshot, num_threads), costs);
  cpu::WatchedAnswer answer = cpu::search_bounded(snapshot, query, watch, stats);
  if (answer.finished) return std::move(answer.hits);
  // k rows reach the last one's score: nothing below it can be in the answer.
  ResolvedQuery rest = query;
  if (answer.hits.size() == query.k) rest.min_score = answer.hits.back().score;
  stats.handed_over = true;
  return scan(snapshot, rest, num_threads, stats);
}

}  // namespace culmen
