// Engine `bounded`: best-first search over the tree with the chain bound.
//
// Always visits the node or leaf with the highest bound next and stops when that bound cannot beat the k-th
// best score: no method that knows only these bounds can read fewer leaves. Ties follow (bound, smallest id).
// Cost: one row of kFanOut floats per bound term and visited node, the used columns of each visited leaf.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {
class Frontier;
class TopK;
}  // namespace culmen

namespace culmen::cpu {

// Where a search stands between two visits.
struct Progress {
  const SearchStats& stats;
  const TopK& best;
  const Frontier& frontier;  // the next visit on top

  std::uint64_t visits() const { return stats.nodes_visited + stats.leaves_visited + stats.leaves_tied_out; }
};

// Is asked at the checkpoints of a search, and may end it.
class SearchMonitor {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  virtual ~SearchMonitor() = default;
  // How many visits to nodes and leaves there may be before the first checkpoint.
  virtual std::uint64_t first_checkpoint() const = 0;
  // How many there may be before the next checkpoint, kNever for no other, or no more than there were: then
  // the search ends here.
  virtual std::uint64_t checkpoint(const Progress& progress) = 0;
};

std::vector<Hit> search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

// The same, monitored. The best so far if `monitor` ended the search: then `finished` is false, and no row
// that is not among them and scores less than the last of k can be in the answer.
struct MonitoredAnswer {
  std::vector<Hit> hits;  // best first
  bool finished = true;
};
MonitoredAnswer search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchMonitor& monitor,
                               SearchStats& stats);

}  // namespace culmen::cpu
