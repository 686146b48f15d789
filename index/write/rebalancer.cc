#include "index/write/rebalancer.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "base/for_each.h"

namespace culmen {
namespace {

// Of a window.
constexpr std::size_t kMaxNeighbours = 8;
// A partition that was split had more. A build makes partitions of 10 to 20 leaves on average, of up to 70 in the lowest
// shell, which are split once they have doubled (LeafPages). Where all are larger by the user's will, one may be by a
// quarter larger than the average.
constexpr std::size_t kMaxPages = 32;

std::size_t most_pages_of(const LeafPages& pages, const Snapshot& s) {
  const std::size_t used = pages.num_partitions() - pages.num_empty_partitions();
  return std::max<std::size_t>(kMaxPages, used == 0 ? 0 : s.num_leaves * 5 / 4 / used);
}

}  // namespace

Rebalancer::Rebalancer(WorkingTree& tree, const LocatedChange& located)
    : tree_(tree),
      located_(located),
      pages_(tree, located),
      most_pages_(most_pages_of(tree.pages, *tree.next)) {
  const std::vector<Group> groups = this->groups();
  std::vector<Plan> plans(groups.size());
  for_each(groups.size(), [&](std::size_t g) {
    if (!is_overgrown(groups[g]) || !split(groups[g], plans[g])) plan_windows(groups[g], plans[g]);
  });
  for (std::size_t g = 0; g < plans.size(); ++g) {
    Plan& plan = plans[g];
    if (plan.cannot_split) alike_.push_back(groups[g].partition);
    if (!plan.cuts.empty()) number_new_partitions(plan);
    std::ranges::move(plan.others, std::back_inserter(others_));
    std::ranges::move(plan.repacks, std::back_inserter(repacks_));
  }
}

std::vector<Rebalancer::Group> Rebalancer::groups() const {
  struct Place {
    std::uint32_t partition;
    std::size_t position;
    const PageEdit* edit;
  };
  std::vector<Place> places;
  for (const PageEdit& edit : located_.edits())
    places.push_back({tree_.pages[edit.page].partition, tree_.pages.position_of(edit.page), &edit});
  std::ranges::sort(places, [](const Place& a, const Place& b) {
    return a.partition != b.partition ? a.partition < b.partition : a.position < b.position;
  });
  std::vector<Group> groups;
  for (const Place& place : places) {
    if (groups.empty() || groups.back().partition != place.partition)
      groups.push_back({place.partition, {}, {}});
    groups.back().positions.push_back(place.position);
    groups.back().edits.push_back(*place.edit);
  }
  return groups;
}

// ---- Splits

bool Rebalancer::is_overgrown(const Group& group) const {
  if (tree_.pages.num_partitions() > kMaxPartitions / 2) return false;  // a batch may add many
  std::size_t num_added = 0;
  for (const PageEdit& edit : group.edits) num_added += edit.added.size();
  const std::size_t num_pages =
      tree_.pages.in_partition(group.partition).size() + num_added / pages_.fill_rows();
  return num_pages > std::max(most_pages_, tree_.pages.room_of_partition(group.partition)) &&
         tree_.next->partitioner->can_be_split(group.partition);
}

bool Rebalancer::split(const Group& group, Plan& plan) const {
  Repack repack;
  repack.pages = tree_.pages.in_partition(group.partition);
  for (std::size_t position = 0; position < repack.pages.size(); ++position)
    repack.edits.push_back(edit_at(group, position));
  PartitionSplit split(tree_, located_, repack.edits);
  split.run(most_pages_ / 2 * pages_.fill_rows(), pages_.fill_rows());
  plan.cuts = split.cuts();
  repack.parts = split.take_parts();
  plan.repacks.push_back(std::move(repack));
  plan.cannot_split = plan.cuts.empty();
  if (plan.cannot_split) plan.repacks.clear();
  return !plan.cannot_split;
}

void Rebalancer::number_new_partitions(Plan& plan) {
  Repack& repack = plan.repacks.front();
  const std::uint32_t own = tree_.pages[repack.pages.front()].partition;
  const auto first_new = static_cast<std::uint32_t>(tree_.pages.num_partitions() + cuts_.size());
  const auto number = [&](std::uint32_t& partition) {
    partition = partition == 0 ? own : first_new + partition - 1;
  };
  split_.push_back(own);
  for (LateSplit& cut : plan.cuts) {
    number(cut.partition);
    cuts_.push_back(cut);
    split_.push_back(first_new + static_cast<std::uint32_t>(&cut - plan.cuts.data()));
  }
  for (Repack::Part& part : repack.parts) number(part.partition);
}

void Rebalancer::run() {
  if (!cuts_.empty())
    tree_.next->partitioner = std::make_shared<const Partitioner>(tree_.next->partitioner->with(cuts_));
  for (const LateSplit& cut : cuts_) tree_.pages.add_partition(cut.partition);
  RepackWriter(tree_, located_).carry_out(repacks_);
  for (const std::uint32_t partition : alike_) tree_.pages.let_partition_double(partition);
  // What is still so large holds rows that are alike.
  for (const std::uint32_t partition : split_)
    if (tree_.pages.in_partition(partition).size() > most_pages_) tree_.pages.let_partition_double(partition);
}

// ---- Windows

void Rebalancer::plan_windows(const Group& group, Plan& plan) const {
  std::size_t first_free = 0;  // pages before it are in a window
  std::size_t first_edit = 0;  // edits before it are
  for (std::size_t e = 0; e < group.edits.size(); ++e) {
    if (group.positions[e] < first_free) continue;
    const std::size_t rows = pages_.num_rows(group.edits[e]);
    const bool is_too_full = rows > pages_.most_rows();
    const bool shrinks = !group.edits[e].removed.empty() && rows < pages_.least_rows();
    if (!is_too_full && !shrinks && rows > 0) continue;
    const Window window = window_at(group, e, first_free);
    if (!is_too_full && rows > 0 && parts_for(window.num_rows) >= window.end - window.first) continue;
    for (; first_edit < e && group.positions[first_edit] < window.first; ++first_edit)
      plan.others.push_back(group.edits[first_edit]);
    while (first_edit < group.edits.size() && group.positions[first_edit] < window.end) ++first_edit;
    plan.repacks.push_back(repack_of(group, window));
    first_free = window.end;
  }
  std::copy(group.edits.begin() + static_cast<std::ptrdiff_t>(first_edit), group.edits.end(),
            std::back_inserter(plan.others));
}

// Grows by turns to either side, until the rows fit into as many pages, or, of a page that shrinks, into fewer.
Rebalancer::Window Rebalancer::window_at(const Group& group, std::size_t edit, std::size_t first_free) const {
  const std::size_t num_pages = tree_.pages.in_partition(group.partition).size();
  const std::size_t position = group.positions[edit], rows = pages_.num_rows(group.edits[edit]);
  Window window{position, position + 1, rows};
  if (rows == 0) return window;
  const std::size_t fewer = rows > pages_.most_rows() ? 0 : 1;
  bool goes_on = true;
  for (bool is_next = true; goes_on && window.end - window.first < kMaxNeighbours; is_next = !is_next) {
    if (parts_for(window.num_rows) + fewer <= window.end - window.first) break;
    const bool can_next = window.end<num_pages, can_before = window.first> first_free;
    goes_on = can_next || can_before;
    if (can_next && (is_next || !can_before)) {
      window.num_rows += rows_at(group, window.end++);
    } else if (can_before) {
      window.num_rows += rows_at(group, --window.first);
    }
  }
  return window;
}

std::size_t Rebalancer::parts_for(std::size_t num_rows) const {
  return (num_rows + pages_.fill_rows() - 1) / pages_.fill_rows();
}

Repack Rebalancer::repack_of(const Group& group, const Window& window) const {
  Repack repack;
  std::vector<Run> runs;
  for (std::size_t position = window.first; position < window.end; ++position) {
    repack.edits.push_back(edit_at(group, position));
    repack.pages.push_back(repack.edits.back().page);
    std::ranges::copy(pages_.runs(repack.edits.back()), std::back_inserter(runs));
  }
  repack.parts.resize(parts_for(window.num_rows));
  std::size_t done = 0;
  auto run = runs.begin();
  std::uint32_t used = 0;  // of *run
  for (std::size_t p = 0; p < repack.parts.size(); ++p) {
    repack.parts[p].partition = group.partition;
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

std::size_t Rebalancer::rows_at(const Group& group, std::size_t position) const {
  return pages_.num_rows(edit_at(group, position));
}

PageEdit Rebalancer::edit_at(const Group& group, std::size_t position) const {
  const auto found = std::ranges::lower_bound(group.positions, position);
  if (found != group.positions.end() && *found == position)
    return group.edits[static_cast<std::size_t>(found - group.positions.begin())];
  return {tree_.pages.in_partition(group.partition)[position], {}, {}};
}

}  // namespace culmen
