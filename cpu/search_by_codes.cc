#include "cpu/search_by_codes.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <mutex>
#include <utility>

#include "base/floating_point_scope.h"
#include "cpu/bounded.h"
#include "cpu/leaf_visit.h"
#include "cpu/topk.h"
#include "index/read_session.h"

namespace culmen::cpu {
namespace {

// Ends a search by bounds that has a k-th score, or a least one, once it has read so much from files.
class FirstReads : public SearchMonitor {
 public:
  explicit FirstReads(std::uint64_t most) : most_(std::max(kLeast, most)) {}
  std::uint64_t first_checkpoint() const override { return kVisits; }
  std::uint64_t checkpoint(const Progress& progress) override {
    const std::uint64_t reads = SlotCache::num_reads_of_thread() - reads_before_;
    const bool has_floor = progress.best.kth_bound() > -std::numeric_limits<double>::infinity();
    return has_floor && reads >= most_ ? 0 : progress.visits() + kVisits;
  }

 private:
  static constexpr std::uint64_t kVisits = 8, kLeast = 16;
  const std::uint64_t most_;
  const std::uint64_t reads_before_ = SlotCache::num_reads_of_thread();
};

// How many leaves are on their way from files while one is looked at.
constexpr std::size_t kReadsAhead = 16;
// Fewer do not justify waking another thread.
constexpr std::size_t kLeavesOfAThread = 8;

// leaves: the highest bounds first, then the smallest ids. Each thread reads the next one; they look at what they have read one at a time, which takes far
// less, and so have one k-th score.
template <typename T>
std::vector<Hit> visit_leaves(const Snapshot& tree, ResolvedQuery query,
                              const std::vector<BoundedLeaf>& leaves, SearchStats& stats) {
  Watch* const watch =
      std::exchange(query.watch, nullptr);  // it calls the caller's functions: not under a lock
  const FirstLook look = first_look_of_bounded(query);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // of what follows
  TopK best(query.k, query.min_score);
  LeafFilter filter(query.filter);
  const auto ask_for = [&](std::size_t i) {
    if (i < leaves.size()) tree.arena->will_touch(SlotKind::leaf, leaves[i].leaf);
  };
  for (std::size_t i = 0; i < kReadsAhead; ++i) ask_for(i);
  const auto num_threads = std::min(static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()),
                                    leaves.size() / kLeavesOfAThread + 1);
  tbb::parallel_for(std::size_t{0}, num_threads, [&](std::size_t) {
    const FloatingPointScope floating_point;
    ReadSession session(tree);
    for (std::size_t i = next++; i < leaves.size(); i = next++) {
      look_at(watch);
      ask_for(i + kReadsAhead);
      session.rest();
      static_cast<void>(tree.leaf(leaves[i].leaf));  // reads it
      const std::lock_guard lock(mutex);
      if (best.excludes(leaves[i].bound, leaves[i].min_id)) return;
      visit_leaf<T>(tree, query, look, leaves[i].leaf, filter, best, stats);
    }
  });
  stats.replacements += best.num_replacements();
  return best.take_sorted();
}

}  // namespace

std::vector<Hit> search_by_codes(const Snapshot& tree, const ResolvedQuery& query, const CodeTable& codes,
                                 SearchStats& stats) {
  FirstReads monitor(codes.num_reads_of_a_call(query.terms.size()));
  MonitoredAnswer begun = search_bounded(tree, query, monitor, stats);
  if (begun.finished) return std::move(begun.hits);
  ResolvedQuery rest = query;
  if (begun.hits.size() == query.k) rest.min_score = std::max(query.min_score, begun.hits.back().score);
  std::vector<BoundedLeaf> leaves = codes.leaves_reaching(rest, rest.min_score);
  stats.rows_by_codes += tree.num_rows;
  stats.bytes_touched += tree.num_rows * query.terms.size() / 2;
  std::ranges::sort(leaves, [](const BoundedLeaf& a, const BoundedLeaf& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.min_id < b.min_id;
  });
  return visit_value_type(tree, [&]<typename T>(T) { return visit_leaves<T>(tree, rest, leaves, stats); });
}

}  // namespace culmen::cpu
