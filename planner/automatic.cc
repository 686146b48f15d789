#include "planner/automatic.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/with_threads.h"
#include "cpu/bounded.h"
#include "cpu/parallel_topk.h"
#include "cpu/scan.h"
#include "cpu/topk.h"
#include "planner/work_estimate.h"

namespace culmen {
namespace {

// The first checkpoint is after a thread's share of the leaves / kPart, within limits: some 10 to 60 us.
constexpr std::uint64_t kPart = 4, kEarliest = 32, kLatest = 192;
// One thread reads a table of fewer leaves before a checkpoint could save anything.
constexpr std::uint64_t kFewLeaves = 1024;
// Counting the frontier takes 1 to 4 us, and early counts are the worst: it waits until the search has taken this part
// of a scan's time.
constexpr double kWorthCounting = 0.2;
// If a search by bounds would read more than this part of the leaves, a scan is faster without bounds.
constexpr double kMaxLeft = 0.3;

class ScanFallback : public cpu::SearchMonitor {
 public:
  ScanFallback(const Snapshot& snapshot, const ResolvedQuery& query, int threads, const CostsNs& costs)
      : snapshot_(snapshot), query_(query), threads_(threads), costs_(costs) {}

  std::uint64_t first_checkpoint() const override {
    if (has_few_leaves() && threads_ == 1) return kNever;
    const auto share = snapshot_.num_leaves / static_cast<std::uint64_t>(threads_);
    return std::clamp(share / kPart, kEarliest, kLatest);
  }

  std::uint64_t checkpoint(const cpu::Progress& progress) override {
    return is_hopeless(progress) ? 0 : 2 * progress.visits();
  }

  // Valid after it stopped a search: the work of that search, had it run to its end.
  const Work& expected() const { return expected_; }

 private:
  bool has_few_leaves() const { return snapshot_.num_leaves < kFewLeaves; }
  double scan_us(const Work& work) const { return culmen::scan_us(work, costs_, threads_); }

  bool is_hopeless(const cpu::Progress& progress) {
    if (leaves_ < 0) leaves_ = estimate_leaves(snapshot_, query_.filter);
    Work reading = estimate_scan(snapshot_, query_, 1, leaves_, threads_);
    reading.candidates = reading.replacements = reading.hits = 0;
    const double least_us = scan_us(reading);
    const Work work_so_far = counted_work(snapshot_, query_, progress.stats, static_cast<double>(query_.k));
    const double so_far = bounded_us(work_so_far, costs_);
    if (so_far < kWorthCounting * least_us) return false;
    expected_ = estimate_bounded(snapshot_, query_, progress);
    const double left = bounded_us(expected_, costs_) - so_far;
    if (left < least_us) return false;
    Work scan = estimate_scan(snapshot_, query_, selectivity(progress), leaves_, threads_);
    // The scan starts with the same k-th score bound, so codes exclude as many rows.
    scan.lines = expected_.lines - work_so_far.lines;
    return left > scan_us(scan);
  }

  // While there are fewer than k hits, every row that passed the filter is among them. Later the share is unknown, and
  // the dearest scan is assumed.
  double selectivity(const cpu::Progress& progress) const {
    if (progress.best.full()) return 1;
    const double rows_per_leaf =
        static_cast<double>(snapshot_.num_rows) / static_cast<double>(snapshot_.num_leaves);
    return (static_cast<double>(progress.best.size()) + 0.5) /
           (static_cast<double>(progress.stats.leaves_visited) * rows_per_leaf + 1);
  }

  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  const int threads_;
  const CostsNs costs_;
  double leaves_ = -1;  // that a scan reads; negative: not yet estimated
  Work expected_;
};

}  // namespace

int scan_threads(const Snapshot& snapshot, int num_threads) {
  // oneTBB halves ranges, so the number of tasks is a power of two.
  const std::uint64_t num_tasks = std::bit_ceil((snapshot.num_leaves + kLeavesPerTask - 1) / kLeavesPerTask);
  return static_cast<int>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(threads_of(num_threads)), num_tasks));
}

bool asks_for_most(const Snapshot& snapshot, const ResolvedQuery& query, int threads) {
  // Where a heap of k on one thread takes as long as the scan (4 M rows, one thread and two: bench/cliffs).
  constexpr std::uint64_t kOfOneThread = 12, kOfMany = 96, kMinK = 8192;
  const std::uint64_t part = std::min(kOfOneThread * static_cast<std::uint64_t>(threads), kOfMany);
  const bool has_kth_bound =
      query.min_score > -std::numeric_limits<double>::infinity();  // then k is only a limit
  return !has_kth_bound && query.k >= kMinK && query.k >= snapshot.num_rows / part;
}

AutomaticStart start_automatic(const Snapshot& snapshot, const ResolvedQuery& query, int threads,
                               SearchStats& stats, const CostsNs& costs) {
  AutomaticStart start;
  if (query.filter.is_nothing()) return start;
  if (snapshot.has_memory_limit()) {  // to read a leaf again costs far more than the bounds that exclude it
    start.hits = cpu::search_bounded(snapshot, query, stats);
    return start;
  }
  if (asks_for_most(snapshot, query, threads)) {
    start.engine = Engine::scan;
    return start;
  }
  ScanFallback monitor(snapshot, query, threads, costs);
  cpu::MonitoredAnswer answer = cpu::search_bounded(snapshot, query, monitor, stats);
  start.hits = std::move(answer.hits);
  if (answer.finished) return start;
  start.engine = Engine::scan;
  start.gave_up = true;
  start.expected = monitor.expected();
  start.scans_all = query.filter.is_everything() &&
                    start.expected.leaves > kMaxLeft * static_cast<double>(snapshot.num_leaves);
  return start;
}

std::vector<Hit> search_automatic(const Snapshot& snapshot, const ResolvedQuery& query, int num_threads,
                                  SearchStats& stats, const CostsNs& costs) {
  AutomaticStart start = start_automatic(snapshot, query, scan_threads(snapshot, num_threads), stats, costs);
  stats.engine = start.engine;
  if (start.engine == Engine::bounded) return std::move(start.hits);
  stats.scan_fallback = start.gave_up;
  // k rows reach the last one's score: no row below it can be in the answer.
  ResolvedQuery rest = query;
  if (start.hits.size() == query.k) rest.min_score = start.hits.back().score;
  return with_threads(num_threads, [&] {
    return start.scans_all ? cpu::search_scan(snapshot, rest, stats)
                           : cpu::search_pruned_scan(snapshot, rest, stats);
  });
}

}  // namespace culmen
