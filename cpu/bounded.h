// Engine `bounded`: best-first search over the tree with the chain bound.
//
// Always visits the node or leaf with the highest bound next and stops when that bound cannot beat the k-th
// best score: no method that knows only these bounds can read fewer blocks. Ties follow (bound, smallest id).
// Cost: one row of kFanOut floats per bound term and visited node, the used columns of each visited leaf.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "culmen/query.h"
#include "index/resolved_query.h"
#include "index/snapshot.h"

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

  std::uint64_t visits() const { return stats.nodes_visited + stats.blocks_visited + stats.leaves_tied_out; }
};

// Looks at a search now and then, and may end it.
class Watch {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  virtual ~Watch() = default;
  // How many visits to nodes and leaves there may be before the first look.
  virtual std::uint64_t first_look() const = 0;
  // How many there may be before the next look, kNever for no other look, or no more than there were: then
  // the search ends here.
  virtual std::uint64_t look(const Progress& progress) = 0;
};

std::vector<Hit> search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

// The same, watched. The best so far if `watch` ended the search: then `finished` is false, and no row that
// is not among them and scores less than the last of k can be in the answer.
struct WatchedAnswer {
  std::vector<Hit> hits;  // best first
  bool finished = true;
};
WatchedAnswer search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, Watch& watch,
                             SearchStats& stats);

}  // namespace culmen::cpu
