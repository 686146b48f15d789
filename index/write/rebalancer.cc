#include "index/write/rebalancer.h"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <utility>

#include "base/for_each.h"
#include "index/write/leaf_writer.h"

namespace culmen {

void Rebalancer::run() {
  if (rebalances_.empty()) return;
  write_parts();
  place_parts();
}

// ---- Which pages

// A nearly empty page without a neighbour to share with is left as it is.
std::vector<PageEdit> Rebalancer::plan() {
  std::vector<bool> is_taken(tree_.pages.size());
  for (const PageEdit& edit : located_.edits())
    if (pages_.needs_rebalance(edit)) is_taken[edit.page] = true;
  std::vector<PageEdit> others;
  for (const PageEdit& edit : located_.edits()) {
    if (!pages_.needs_rebalance(edit)) {
      others.push_back(edit);
      continue;
    }
    Rebalance rebalance{{edit.page}, {edit}, tree_.pages[edit.page].partition, {}};
    if (is_nearly_empty(edit)) {
      const std::optional<PageNumber> neighbour = neighbour_of(edit.page, is_taken);
      if (!neighbour) {
        others.push_back(edit);
        continue;
      }
      is_taken[*neighbour] = true;
      add_neighbour(rebalance, *neighbour);
    }
    rebalances_.push_back(std::move(rebalance));
  }
  return others;
}

bool Rebalancer::is_nearly_empty(const PageEdit& edit) const {
  const std::size_t rows = pages_.num_rows(edit);
  return rows > 0 && rows < pages_.least_rows();
}

// A page beside this one in its partition that is in no other rebalance.
std::optional<PageNumber> Rebalancer::neighbour_of(PageNumber page, const std::vector<bool>& is_taken) const {
  const std::vector<PageNumber>& pages = tree_.pages.in_partition(tree_.pages[page].partition);
  const std::size_t position = tree_.pages.position_of(page);
  if (position + 1 < pages.size() && !is_taken[pages[position + 1]]) return pages[position + 1];
  if (position > 0 && !is_taken[pages[position - 1]]) return pages[position - 1];
  return std::nullopt;
}

void Rebalancer::add_neighbour(Rebalance& rebalance, PageNumber neighbour) const {
  const bool is_next = tree_.pages.position_of(neighbour) > tree_.pages.position_of(rebalance.pages.front());
  rebalance.pages.insert(is_next ? rebalance.pages.end() : rebalance.pages.begin(), neighbour);
  rebalance.edits.insert(is_next ? rebalance.edits.end() : rebalance.edits.begin(),
                         PageEdit{neighbour, {}, {}, {}});
}

// ---- New leaves

void Rebalancer::take_slots(Rebalance& rebalance) {
  std::size_t num_rows = 0;
  for (const PageEdit& edit : rebalance.edits) num_rows += pages_.num_rows(edit);
  const std::size_t fill = pages_.fill_rows();
  const std::size_t limit = rebalance.pages.size() > 1 ? fill : pages_.most_rows();
  const std::size_t num_parts = num_rows <= limit ? (num_rows > 0 ? 1 : 0) : (num_rows + fill - 1) / fill;
  rebalance.parts.resize(num_parts);
  for (Rebalance::Part& part : rebalance.parts) part.slot = tree_.leaf_slots.take();
}

void Rebalancer::write_parts() {
  for (Rebalance& rebalance : rebalances_) take_slots(rebalance);
  const Snapshot& s = *tree_.next;
  tbb::enumerable_thread_specific<LeafWriter> writers(
      [&] { return LeafWriter(*tree_.next, located_.change()); });
  for_each(rebalances_.size(), [&](std::size_t r) {
    Rebalance& rebalance = rebalances_[r];
    cut_evenly(rebalance);
    SuffixExtremes suffix = pages_.suffix(rebalance.edits.back());
    for (std::size_t p = rebalance.parts.size(); p-- > 0;) {
      Rebalance::Part& part = rebalance.parts[p];
      writers.local().write(part.slot, rebalance.partition, part.runs, suffix);
      part.rows.resize(static_cast<std::size_t>(s.layout.num_rows()));
      writers.local().bound(part.slot, 0, s.leaf(part.slot).num_rows, part.rows);
      suffix.include_leaf(s, part.slot);
    }
  });
}

// Gives each part its rows.
void Rebalancer::cut_evenly(Rebalance& rebalance) const {
  std::vector<Run> runs;
  std::size_t num_rows = 0;
  for (const PageEdit& edit : rebalance.edits) {
    for (const Run& run : pages_.runs(edit)) runs.push_back(run);
    num_rows += pages_.num_rows(edit);
  }
  const std::size_t num_parts = rebalance.parts.size();
  std::size_t done = 0;
  auto run = runs.begin();
  std::uint32_t used = 0;  // of *run
  for (std::size_t p = 0; p < num_parts; ++p) {
    const std::size_t end = num_rows * (p + 1) / num_parts;
    while (done < end) {
      const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(run->count - used, end - done));
      rebalance.parts[p].runs.push_back({run->slot, run->first + used, count});
      done += count;
      used += count;
      if (used < run->count) continue;
      ++run;
      used = 0;
    }
  }
}

// ---- Into the tree

// And tells the nodes above what they may have more than before.
void Rebalancer::place_parts() {
  std::vector<PageNumber> parents;
  for (const Rebalance& rebalance : rebalances_)
    for (const PageNumber page : rebalance.pages) parents.push_back(tree_.pages[page].parent);
  tree_.nodes.own(std::move(parents));
  for (Rebalance& rebalance : rebalances_) place(rebalance);
  std::vector<PageNumber> changed;
  for (const Rebalance& rebalance : rebalances_)
    for (std::size_t p = 0; p < rebalance.parts.size(); ++p)
      changed.push_back(tree_.pages[rebalance.pages[p]].parent);
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  std::vector<TreeNodes::Edited> edited;
  for (const PageNumber node : changed) edited.push_back({node, true});
  tree_.nodes.carry_up(std::move(edited));
}

// The parts take the place of the pages: as many pages as there are parts keep their numbers.
void Rebalancer::place(Rebalance& rebalance) {
  std::vector<std::uint32_t> old_slots;
  for (const PageNumber page : rebalance.pages) old_slots.push_back(tree_.pages[page].slot);
  const std::size_t first = tree_.pages.position_of(rebalance.pages.front());
  for (std::size_t p = 0; p < rebalance.parts.size(); ++p) place_part(rebalance, p, first + p);
  for (std::size_t p = rebalance.parts.size(); p < rebalance.pages.size(); ++p)
    tree_.remove_page(rebalance.pages[p]);
  for (const std::uint32_t slot : old_slots) tree_.release_leaf(slot);
}

// `position`: in the partition, if it needs a new page.
void Rebalancer::place_part(Rebalance& rebalance, std::size_t p, std::size_t position) {
  const Rebalance::Part& part = rebalance.parts[p];
  if (p >= rebalance.pages.size()) {
    LeafPage page;
    page.slot = part.slot;
    page.partition = rebalance.partition;
    rebalance.pages.push_back(
        tree_.insert_page(page, position, TreeNodes::Side::after, rebalance.pages[p - 1], part.rows));
  } else {
    tree_.nodes.set_leaf(rebalance.pages[p], part.slot, part.rows);
    tree_.pages[rebalance.pages[p]].num_erased = 0;
  }
  tree_.pages.set_first(*tree_.next, rebalance.pages[p]);
  move_ids(part.runs, rebalance.pages[p]);
}

void Rebalancer::move_ids(std::span<const Run> runs, PageNumber page) {
  for (const Run& run : runs) {
    const std::uint32_t end = run.first + run.count;
    if (run.slot == kOfBatch) {
      for (std::uint32_t r = run.first; r < end; ++r) tree_.ids.insert(located_.change().ids[r], page);
      continue;
    }
    const PageNumber from = tree_.nodes.leaf_in(run.slot);
    const std::int64_t* ids = tree_.next->leaf_ids(run.slot);
    if (from == page) continue;
    for (std::uint32_t r = run.first; r < end; ++r) tree_.ids.prefetch(ids[r]);
    for (std::uint32_t r = run.first; r < end; ++r) tree_.ids.move(ids[r], from, page);
  }
}

}  // namespace culmen
