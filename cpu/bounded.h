// Engine `bounded`: best-first search over the tree with the chain bound.
//
// Visits the node or leaf with the highest bound next and stops once that bound cannot beat the k-th best score: no
// method that knows only these bounds can read fewer leaves. Ties follow (bound, smallest id). Cost: one BoundRow (40
// bytes) per bound term of each visited node; the used columns, or their codes, of each visited leaf.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"
#include "query/row_groups.h"

namespace culmen {
class Frontier;
class TopK;
}  // namespace culmen

namespace culmen::cpu {

// The state of a search between two visits.
struct Progress {
  const SearchStats& stats;
  const TopK& best;
  const Frontier& frontier;  // the next visit on top

  std::uint64_t visits() const { return stats.nodes_visited + stats.leaves_visited + stats.leaves_tied_out; }
};

// Called at the checkpoints of a search; can end it.
class SearchMonitor {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  virtual ~SearchMonitor() = default;
  // The number of visits to nodes and leaves before the first checkpoint.
  virtual std::uint64_t first_checkpoint() const = 0;
  // Returns the number of visits before the next checkpoint, counted from the start of the search; kNever for no
  // further checkpoint. A number that progress.visits() has reached ends the search.
  virtual std::uint64_t checkpoint(const Progress& progress) = 0;
};

std::vector<Hit> search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

// The same for a query with groups, of which each has so many rows at most. earlier: those on earlier pages.
std::vector<Hit> search_per_group(const Snapshot& snapshot, const ResolvedQuery& query,
                                  const GroupCounts& earlier, SearchStats& stats);
// The rows of each group on pages before query.after.
GroupCounts count_earlier_pages(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

// The highest bound of the root's children that may have a row that passes the filter; -infinity if none has.
double bound_of_root(const Snapshot& snapshot, const ResolvedQuery& query);

// The same search, monitored. If `monitor` ends it, `finished` is false and `hits` are the best so far: once there are
// k of them, no other row that scores less than the last one can be in the answer.
struct MonitoredAnswer {
  std::vector<Hit> hits;  // best first
  bool finished = true;
};
MonitoredAnswer search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchMonitor& monitor,
                               SearchStats& stats);

// One of several trees whose rows are ranked together, and the query as resolved for it.
struct JointTree {
  const Snapshot* snapshot;
  const ResolvedQuery* query;
};

struct JointAnswer {
  std::vector<Hit> hits;             // best first
  std::vector<std::uint32_t> trees;  // of each hit
  bool finished = true;              // as in MonitoredAnswer
};

// A joint search that has not ended after so many visits, some hundred microseconds, leaves the rest to the engines of the
// single trees, which may scan and use more threads.
inline constexpr std::uint64_t kMostJointVisits = 4096;
// The same where the engine of a tree has codes at hand (cpu/code_table.h).
inline constexpr std::uint64_t kVisitsBeforeCodes = 64;
// From here on a heap of k hits on one thread may cost more than scans do.
inline constexpr std::size_t kLargeJointK = 8192;

// The k best rows of all trees, with one k-th score and always the highest bound of any tree next: hardly more visits
// than in one tree of all rows. All queries have the same min_score. Gives up after most_visits.
JointAnswer search_jointly(std::span<const JointTree> trees, std::size_t k, std::uint64_t most_visits,
                           SearchStats& stats);

}  // namespace culmen::cpu
