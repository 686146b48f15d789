#include "index/write/rebalance_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/for_each.h"
#include "index/write/edited_pages.h"
#include "index/write/partition_split.h"

namespace culmen {
namespace {

// The most pages that are repacked together because one of them is overfull or underfull.
constexpr std::size_t kMaxWindowPages = 8;
// A partition with more pages is split, one of the build not before it has doubled (LeafPages::room_of_partition). A
// build makes partitions of 10 to 20 leaves on average, and of up to 70 in the lowest shell. If the user has chosen
// larger partitions, the limit is a quarter above the average, if that is more.
constexpr std::size_t kMaxPages = 32;

std::size_t max_pages_of(const LeafPages& pages, const Snapshot& s) {
  const std::size_t used = pages.num_partitions() - pages.num_empty_partitions();
  return std::max<std::size_t>(kMaxPages, used == 0 ? 0 : s.num_leaves * 5 / 4 / used);
}

// The edited pages of one partition, in order.
struct PartitionEdits {
  std::uint32_t partition = 0;
  std::vector<std::size_t> positions;  // of the pages in the partition
  std::vector<PageEdit> edits;
};

struct PartitionPlan {
  std::vector<Repack> repacks;
  std::vector<PageEdit> rewrites;
  std::vector<LateSplit> splits;  // numbered as by PartitionSplit; if any, one repack holds the partition
  bool cannot_split = false;
};

class RebalancePlanner {
 public:
  RebalancePlanner(const WorkingTree& tree, const LocatedChange& located)
      : tree_(tree),
        located_(located),
        pages_(tree, located),
        max_pages_(max_pages_of(tree.pages, *tree.next)) {}

  RebalancePlan run() {
    const std::vector<PartitionEdits> edited = edits_by_partition();
    std::vector<PartitionPlan> plans(edited.size());
    for_each(edited.size(), [&](std::size_t p) {
      if (!is_overgrown(edited[p]) || !split(edited[p], plans[p])) plan_windows(edited[p], plans[p]);
    });
    for (std::size_t p = 0; p < plans.size(); ++p) {
      if (plans[p].cannot_split) plan_.deferred.push_back(edited[p].partition);
      if (!plans[p].splits.empty()) number_new_partitions(plans[p]);
      std::ranges::move(plans[p].rewrites, std::back_inserter(plan_.rewrites));
      std::ranges::move(plans[p].repacks, std::back_inserter(plan_.repacks));
    }
    return std::move(plan_);
  }

 private:
  // Pages [first, end) of a partition, and how many rows they will have after the batch.
  struct Window {
    std::size_t first, end, num_rows;
  };

  std::vector<PartitionEdits> edits_by_partition() const;
  bool is_overgrown(const PartitionEdits& edited) const;
  bool split(const PartitionEdits& edited, PartitionPlan& plan) const;
  void number_new_partitions(PartitionPlan& plan);
  void plan_windows(const PartitionEdits& edited, PartitionPlan& plan) const;
  Window window_at(const PartitionEdits& edited, std::size_t edit, std::size_t first_free) const;
  Repack repack_of(const PartitionEdits& edited, const Window& window) const;
  PageEdit edit_at(const PartitionEdits& edited, std::size_t position) const;
  std::size_t rows_at(const PartitionEdits& edited, std::size_t position) const {
    return pages_.num_rows(edit_at(edited, position));
  }
  std::size_t parts_for(std::size_t num_rows) const {
    return (num_rows + pages_.fill_rows() - 1) / pages_.fill_rows();
  }

  const WorkingTree& tree_;
  const LocatedChange& located_;
  const EditedPages pages_;
  const std::size_t max_pages_;  // of a partition
  RebalancePlan plan_;
};

std::vector<PartitionEdits> RebalancePlanner::edits_by_partition() const {
  struct Position {
    std::uint32_t partition;
    std::size_t position;
    const PageEdit* edit;
  };
  std::vector<Position> sorted;
  for (const PageEdit& edit : located_.edits())
    sorted.push_back(
        {tree_.pages[edit.page].partition, tree_.pages.position_of(*tree_.next, edit.page), &edit});
  std::ranges::sort(sorted, [](const Position& a, const Position& b) {
    return a.partition != b.partition ? a.partition < b.partition : a.position < b.position;
  });
  std::vector<PartitionEdits> partitions;
  for (const Position& at : sorted) {
    if (partitions.empty() || partitions.back().partition != at.partition)
      partitions.push_back({at.partition, {}, {}});
    partitions.back().positions.push_back(at.position);
    partitions.back().edits.push_back(*at.edit);
  }
  return partitions;
}

// ---- Splits

bool RebalancePlanner::is_overgrown(const PartitionEdits& edited) const {
  if (tree_.pages.num_partitions() > kMaxPartitions / 2) return false;  // a batch may add many more
  std::size_t num_added = 0;
  for (const PageEdit& edit : edited.edits) num_added += edit.added.size();
  const std::size_t num_pages =
      tree_.pages.in_partition(edited.partition).size() + num_added / pages_.fill_rows();
  return num_pages > std::max(max_pages_, tree_.pages.room_of_partition(edited.partition)) &&
         tree_.next->partitioner->can_be_split(edited.partition);
}

// Returns false if the rows are too similar to be split.
bool RebalancePlanner::split(const PartitionEdits& edited, PartitionPlan& plan) const {
  Repack repack;
  repack.pages = tree_.pages.in_partition(edited.partition).to_vector();
  for (std::size_t position = 0; position < repack.pages.size(); ++position)
    repack.edits.push_back(edit_at(edited, position));
  PartitionSplit split(tree_, located_, repack.edits);
  split.run(max_pages_ / 2 * pages_.fill_rows(), pages_.fill_rows());
  plan.cannot_split = split.cuts().empty();
  if (plan.cannot_split) return false;
  plan.splits = split.cuts();
  repack.parts = split.take_parts();
  plan.repacks.push_back(std::move(repack));
  return true;
}

// Replaces the partition numbers of PartitionSplit, which begin at 0, by those of the tree.
void RebalancePlanner::number_new_partitions(PartitionPlan& plan) {
  Repack& repack = plan.repacks.front();
  const std::uint32_t own = tree_.pages[repack.pages.front()].partition;
  const auto first_new = static_cast<std::uint32_t>(tree_.pages.num_partitions() + plan_.splits.size());
  std::vector<std::size_t> num_parts(plan.splits.size() + 1);  // by PartitionSplit's number
  const auto number_of = [&](std::uint32_t n) { return n == 0 ? own : first_new + n - 1; };
  for (Repack::Part& part : repack.parts) {
    ++num_parts[part.partition];
    part.partition = number_of(part.partition);
  }
  for (LateSplit split : plan.splits) {
    split.partition = number_of(split.partition);
    plan_.splits.push_back(split);
  }
  for (std::uint32_t n = 0; n < num_parts.size(); ++n)  // what is still too large has too similar rows
    if (num_parts[n] > max_pages_) plan_.deferred.push_back(number_of(n));
}

// ---- Windows

void RebalancePlanner::plan_windows(const PartitionEdits& edited, PartitionPlan& plan) const {
  std::size_t first_free = 0;  // no window has pages from here on
  std::size_t first_edit = 0;  // edits before it are rewrites or in a window
  for (std::size_t e = 0; e < edited.edits.size(); ++e) {
    if (edited.positions[e] < first_free) continue;
    const std::size_t rows = pages_.num_rows(edited.edits[e]);
    const bool is_overfull = rows > pages_.max_rows();
    const bool is_underfull = !edited.edits[e].removed.empty() && rows < pages_.min_rows();
    if (!is_overfull && !is_underfull && rows > 0) continue;
    const Window window = window_at(edited, e, first_free);
    if (!is_overfull && rows > 0 && parts_for(window.num_rows) >= window.end - window.first) continue;
    for (; first_edit < e && edited.positions[first_edit] < window.first; ++first_edit)
      plan.rewrites.push_back(edited.edits[first_edit]);
    while (first_edit < edited.edits.size() && edited.positions[first_edit] < window.end) ++first_edit;
    plan.repacks.push_back(repack_of(edited, window));
    first_free = window.end;
  }
  std::copy(edited.edits.begin() + static_cast<std::ptrdiff_t>(first_edit), edited.edits.end(),
            std::back_inserter(plan.rewrites));
}

// Starts with one page and adds neighbours, alternately on either side, until the rows fit into as many pages as the
// window has, or, around an underfull page, into one fewer. An emptied page is a window of its own.
RebalancePlanner::Window RebalancePlanner::window_at(const PartitionEdits& edited, std::size_t edit,
                                                     std::size_t first_free) const {
  const std::size_t num_pages = tree_.pages.in_partition(edited.partition).size();
  const std::size_t position = edited.positions[edit], rows = pages_.num_rows(edited.edits[edit]);
  Window window{position, position + 1, rows};
  if (rows == 0) return window;
  const std::size_t fewer = rows > pages_.max_rows() ? 0 : 1;
  bool can_grow = true;
  for (bool is_next = true; can_grow && window.end - window.first < kMaxWindowPages; is_next = !is_next) {
    if (parts_for(window.num_rows) + fewer <= window.end - window.first) break;
    const bool can_next = window.end < num_pages;
    const bool can_before = window.first > first_free;
    can_grow = can_next || can_before;
    if (can_next && (is_next || !can_before)) {
      window.num_rows += rows_at(edited, window.end++);
    } else if (can_before) {
      window.num_rows += rows_at(edited, --window.first);
    }
  }
  return window;
}

// Divides the rows of the window evenly among as few pages as hold them.
Repack RebalancePlanner::repack_of(const PartitionEdits& edited, const Window& window) const {
  Repack repack;
  std::vector<Run> runs;
  for (std::size_t position = window.first; position < window.end; ++position) {
    repack.edits.push_back(edit_at(edited, position));
    repack.pages.push_back(repack.edits.back().page);
    std::ranges::copy(pages_.runs(repack.edits.back()), std::back_inserter(runs));
  }
  repack.parts.resize(parts_for(window.num_rows));
  std::size_t done = 0;
  auto run = runs.begin();
  std::uint32_t used = 0;  // of *run
  for (std::size_t p = 0; p < repack.parts.size(); ++p) {
    repack.parts[p].partition = edited.partition;
    const std::size_t end = window.num_rows * (p + 1) / repack.parts.size();
    while (done < end) {
      const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(run->count - used, end - done));
      repack.parts[p].runs.push_back({run->slot, run->first + used, count});
      done += count;
      used += count;
      if (used < run->count) continue;
      ++run;
      used = 0;
    }
  }
  return repack;
}

PageEdit RebalancePlanner::edit_at(const PartitionEdits& edited, std::size_t position) const {
  const auto found = std::ranges::lower_bound(edited.positions, position);
  if (found != edited.positions.end() && *found == position)
    return edited.edits[static_cast<std::size_t>(found - edited.positions.begin())];
  return {tree_.pages.in_partition(edited.partition)[position], {}, {}};
}

}  // namespace

RebalancePlan plan_rebalance(const WorkingTree& tree, const LocatedChange& located) {
  return RebalancePlanner(tree, located).run();
}

}  // namespace culmen
