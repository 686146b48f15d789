#include "query/adaptive.h"

#include <tbb/info.h>

#include <algorithm>

#include "cpu/bounded.h"
#include "cpu/scan.h"
#include "cpu/topk.h"
#include "index/with_threads.h"
#include "query/cost_model.h"
#include "query/forecast.h"

namespace culmen {
namespace {

// Beyond this share of the table a search by bounds would visit nearly every leaf, and a scan reads in a
// stream.
constexpr std::size_t kScanShare = 4;

// A look takes some 10 us, up to 40 us with a filter, and so many visits some 60 us.
constexpr std::uint64_t kFirstLook = 192;
// Tables of fewer leaves are read whole before a look could save anything.
constexpr std::uint64_t kWorthALook = 1024;
// What is left is known less well than what a scan takes, and part of the way is done.
constexpr double kDoubt = 1.25;

class HandOver : public cpu::Watch {
 public:
  HandOver(const Snapshot& snapshot, const ResolvedQuery& query, int threads, MachineCosts (*costs)())
      : snapshot_(snapshot), query_(query), threads_(threads), current_costs_(costs) {}

  std::uint64_t first_look() const override {
    return snapshot_.num_leaves < kWorthALook ? kNever : kFirstLook;
  }

  std::uint64_t look(const cpu::Progress& progress) override {
    if (scan_us_ < 0) ask_for_costs();
    const Work so_far = counted_work(snapshot_, query_, progress.stats, static_cast<double>(query_.k));
    const double left =
        bounded_us(forecast_bounded(snapshot_, query_, progress), costs_) - bounded_us(so_far, costs_);
    return left > kDoubt * scan_us_ ? 0 : 2 * progress.visits();
  }

 private:
  void ask_for_costs() {
    costs_ = current_costs_();
    const double selectivity = estimate_selectivity(snapshot_, query_);
    scan_us_ = scan_us(forecast_scan(snapshot_, query_, selectivity, threads_), costs_, threads_,
                       tbb::info::default_concurrency());
  }

  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  const int threads_;
  MachineCosts (*const current_costs_)();
  MachineCosts costs_;
  double scan_us_ = -1;  // not asked for yet
};

std::vector<Hit> scan(const Snapshot& snapshot, const ResolvedQuery& query, int num_threads,
                      SearchStats& stats) {
  stats.engine = Engine::scan;
  return with_threads(num_threads, [&] { return cpu::search_scan(snapshot, query, stats); });
}

}  // namespace

bool wants_most_rows(const Snapshot& snapshot, const ResolvedQuery& query) {
  return query.k > snapshot.num_tuples / kScanShare;
}

int threads_of(int num_threads) {
  const int all = tbb::info::default_concurrency();
  return num_threads == 0 ? all : std::min(num_threads, all);
}

std::vector<Hit> search_adaptive(const Snapshot& snapshot, const ResolvedQuery& query, int num_threads,
                                 SearchStats& stats, MachineCosts (*costs)()) {
  if (wants_most_rows(snapshot, query)) return scan(snapshot, query, num_threads, stats);
  stats.engine = Engine::bounded;
  HandOver watch(snapshot, query, threads_of(num_threads), costs);
  cpu::WatchedAnswer answer = cpu::search_bounded(snapshot, query, watch, stats);
  if (answer.finished) return std::move(answer.hits);
  // k rows reach the last one's score: nothing below it can be in the answer.
  ResolvedQuery rest = query;
  if (answer.hits.size() == query.k) rest.min_score = answer.hits.back().score;
  stats.handed_over = true;
  return scan(snapshot, rest, num_threads, stats);
}

}  // namespace culmen
