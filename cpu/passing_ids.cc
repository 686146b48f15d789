#include "cpu/passing_ids.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>

#include "base/floating_point_scope.h"
#include "cpu/leaf_filter.h"
#include "cpu/parallel_topk.h"
#include "cpu/scan.h"
#include "index/read_session.h"

namespace culmen::cpu {
namespace {

// What one thread has found.
struct Found {
  LeafFilter filter;
  std::vector<std::int64_t> ids = {};
  SearchStats stats = {};

  template <typename T>
  void visit(const Snapshot& snapshot, std::uint32_t leaf) {
    const Verdict verdict = filter.is_everything() ? Verdict::all : filter.test<T>(snapshot, leaf, stats);
    const std::uint32_t num_rows = verdict == Verdict::none ? 0 : snapshot.leaf(leaf).num_rows;
    for (std::uint32_t row = 0; row < num_rows; ++row)
      if (verdict == Verdict::all || filter.passes(row)) ids.push_back(snapshot.leaf_ids(leaf)[row]);
  }
};

}  // namespace

std::vector<std::int64_t> passing_ids(const Snapshot& snapshot, const Predicate& filter) {
  const std::vector<std::uint32_t> leaves = leaves_that_may_pass(snapshot, filter);
  tbb::enumerable_thread_specific<Found> found([&] { return Found{LeafFilter(filter)}; });
  visit_value_type(snapshot, [&]<typename T>(T) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, leaves.size(), kLeavesPerTask),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        const FloatingPointScope floating_point;
                        const ReadSession session(snapshot);
                        Found& mine = found.local();
                        for (std::size_t i = range.begin(); i < range.end(); ++i)
                          mine.template visit<T>(snapshot, leaves[i]);
                      });
  });
  std::vector<std::int64_t> ids;
  for (const Found& part : found) ids.insert(ids.end(), part.ids.begin(), part.ids.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace culmen::cpu
