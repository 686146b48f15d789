// TreeWriter: leaves that are written anew, and those that are split, merged or share their rows.
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/for_each.h"
#include "index/write/tree_writer.h"

namespace culmen {
namespace {

// From so many rows that come to one leaf on, computing all bounds is cheaper than raising them one by one.
constexpr std::size_t kManyRows = 12;

}  // namespace

std::size_t TreeWriter::rows_after(const PageEdit& edit) const {
  return next_->leaf(leaves_[edit.page].slot).num_rows - edit.removed.size() + edit.added.size();
}

bool TreeWriter::needs_rebalance(const PageEdit& edit) const {
  const std::size_t rows = rows_after(edit);
  return rows > block_rows() || rows == 0 || (!edit.removed.empty() && rows < least_rows());
}

// The rows of the page after the edit, in order.
std::vector<Run> TreeWriter::runs_of(const PageEdit& edit, const Change& change) const {
  const std::uint32_t slot = leaves_[edit.page].slot;
  const std::uint32_t num_rows = next_->leaf(slot).num_rows;
  std::vector<std::uint32_t> added;
  for (const PageOperation& operation : edit.added) added.push_back(operation.value);
  const auto place = [&](std::uint32_t row) { return std::pair(keys_[row] & kOrderMask, change.ids[row]); };
  std::sort(added.begin(), added.end(),
            [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
  std::vector<Run> runs;
  std::uint32_t at = 0;
  auto removed = edit.removed.begin();
  const auto keep_until = [&](std::uint32_t end) {
    for (; removed != edit.removed.end() && removed->value < end; ++removed) {
      if (removed->value > at) runs.push_back({slot, at, removed->value - at});
      at = removed->value + 1;
    }
    if (end > at) runs.push_back({slot, at, end - at});
    at = std::max(at, end);
  };
  for (const std::uint32_t row : added) {
    std::uint32_t low = at, high = num_rows;  // the first old row behind the new one
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      const bool is_before =
          std::pair(order_at(*next_, slot, middle), next_->leaf_ids(slot)[middle]) < place(row);
      (is_before ? low : high) = is_before ? middle + 1 : middle;
    }
    keep_until(low);
    runs.push_back({kOfBatch, row, 1});
  }
  keep_until(num_rows);
  return runs;
}

// What the page says of those behind it, with the rows that come to them.
SuffixExtremes TreeWriter::suffix_of(const PageEdit& edit, const Change& change) const {
  SuffixExtremes suffix(next_->attributes.size());
  const std::uint32_t slot = leaves_[edit.page].slot;
  if (next_->leaf(slot).num_rows > 0) suffix.include_suffix_of(*next_, slot);
  for (const PageOperation& operation : edit.covered) {
    suffix.min_id = std::min(suffix.min_id, change.ids[operation.value]);
    for (std::size_t i = 0; i < suffix.highest.size(); ++i) {
      const double value = change.number(operation.value, i, next_->value_bytes());
      suffix.highest[i] = std::max(suffix.highest[i], value);
      suffix.lowest[i] = std::min(suffix.lowest[i], value);
    }
  }
  return suffix;
}

void TreeWriter::release(std::uint32_t slot) {
  if (next_->leaf(slot).version == next_->version) {
    leaf_slots_->give_back(slot);
  } else {
    leaf_slots_->retire(slot);
  }
}

// Writes each page to a new slot, and bounds and links to its node: node by node, in parallel.
void TreeWriter::rewrite(std::vector<PageEdit>& edits, const Change& change) {
  if (edits.empty()) return;
  std::sort(edits.begin(), edits.end(), [this](const PageEdit& a, const PageEdit& b) {
    const PageNumber x = leaves_[a.page].parent, y = leaves_[b.page].parent;
    return x != y ? x < y : a.page < b.page;
  });
  std::vector<std::size_t> starts;  // of the edits below each node
  std::vector<PageNumber> parents;
  std::vector<std::uint32_t> slots;
  for (std::size_t e = 0; e < edits.size(); ++e) {
    slots.push_back(leaf_slots_->take());
    const PageNumber parent = leaves_[edits[e].page].parent;
    if (!parents.empty() && parents.back() == parent) continue;
    parents.push_back(parent);
    starts.push_back(e);
  }
  starts.push_back(edits.size());
  tbb::enumerable_thread_specific<LeafWriter> writers([&] { return LeafWriter(*next_, change); });
  std::vector<TreeNodes::BoundRaise> raises(parents.size());
  nodes_->own(parents, [&](std::size_t n) {
    raises[n].node = parents[n];
    for (std::size_t e = starts[n]; e < starts[n + 1]; ++e)
      rewrite_leaf(edits[e], slots[e], change, writers.local(), raises[n].rows);
    update_min_id(nodes_->owned(parents[n]));
  });
  for (std::size_t e = 0; e < edits.size(); ++e) {
    LeafPage& leaf = leaves_[edits[e].page];
    release(std::exchange(leaf.slot, slots[e]));
    nodes_->leaf_is_in(edits[e].page, slots[e]);
    for (const PageOperation& operation : edits[e].added)
      ids_.insert(change.ids[operation.value], edits[e].page);
  }
  nodes_->carry_up(std::move(raises));
}

// `raised` covers afterwards what the page may have more than before.
void TreeWriter::rewrite_leaf(const PageEdit& edit, std::uint32_t slot, const Change& change,
                              LeafWriter& writer, BoundRows& raised) {
  LeafPage& leaf = leaves_[edit.page];
  const std::vector<Run> runs = runs_of(edit, change);
  writer.write(slot, next_->leaf(leaf.slot).partition, runs, suffix_of(edit, change));
  const MutableNode node = nodes_->owned(leaf.parent);
  const std::uint32_t child = position_of({node.bytes}, leaf.slot);
  node.children()[child] = slot;
  node.min_ids()[child] = next_->leaf(slot).min_id;
  leaf.num_erased += static_cast<std::uint32_t>(edit.removed.size());
  BoundRows rows(static_cast<std::size_t>(next_->layout.num_rows()));
  const auto raise = [&] {
    if (raised.empty()) raised = bounds_of_no_rows(next_->layout);
    cover(next_->layout, raised, rows);
  };
  const std::uint32_t num_rows = next_->leaf(slot).num_rows;
  if (4 * leaf.num_erased > num_rows || edit.added.size() > kManyRows) {
    writer.bound(slot, 0, num_rows, rows);
    set_column(node, child, rows);
    leaf.num_erased = 0;
    return raise();
  }
  std::uint32_t at = 0;
  for (const Run& run : runs) {
    if (run.slot == kOfBatch) {
      writer.bound(slot, at, run.count, rows);
      if (cover_column(next_->layout, node, child, rows)) raise();
    }
    at += run.count;
  }
}

// ---- Splits, merges and borrowing

// Pages that are too full or nearly empty, the latter with a neighbour; the other edits go to `plain`.
std::vector<TreeWriter::Rebalance> TreeWriter::plan_rebalances(std::span<const PageEdit> edits,
                                                               std::vector<PageEdit>& plain) const {
  std::vector<bool> is_taken(leaves_.size());
  for (const PageEdit& edit : edits)
    if (needs_rebalance(edit)) is_taken[edit.page] = true;
  std::vector<Rebalance> rebalances;
  for (const PageEdit& edit : edits) {
    if (!needs_rebalance(edit)) {
      plain.push_back(edit);
      continue;
    }
    Rebalance rebalance;
    rebalance.partition = next_->leaf(leaves_[edit.page].slot).partition;
    rebalance.pages = {edit.page};
    rebalance.edits = {edit};
    const std::size_t rows = rows_after(edit);
    if (rows > 0 && rows < least_rows()) {
      const std::optional<PageNumber> neighbour = neighbour_of(edit.page, is_taken);
      if (!neighbour) {
        plain.push_back(edit);
        continue;
      }
      is_taken[*neighbour] = true;
      const bool is_next = position_in_partition(*neighbour) > position_in_partition(edit.page);
      rebalance.pages.insert(is_next ? rebalance.pages.end() : rebalance.pages.begin(), *neighbour);
      rebalance.edits.insert(is_next ? rebalance.edits.end() : rebalance.edits.begin(),
                             PageEdit{*neighbour, {}, {}, {}});
    }
    rebalances.push_back(std::move(rebalance));
  }
  return rebalances;
}

// A page beside this one in its partition that is not cut anew itself.
std::optional<PageNumber> TreeWriter::neighbour_of(PageNumber page, const std::vector<bool>& is_taken) const {
  const std::vector<PageNumber>& pages = partitions_[next_->leaf(leaves_[page].slot).partition];
  const std::size_t position = position_in_partition(page);
  if (position + 1 < pages.size() && !is_taken[pages[position + 1]]) return pages[position + 1];
  if (position > 0 && !is_taken[pages[position - 1]]) return pages[position - 1];
  return std::nullopt;
}

void TreeWriter::write_parts(std::span<Rebalance> rebalances, const Change& change) {
  for (Rebalance& rebalance : rebalances) {
    std::size_t num_rows = 0;
    for (const PageEdit& edit : rebalance.edits) num_rows += rows_after(edit);
    const std::size_t limit = rebalance.pages.size() > 1 ? fill_rows() : block_rows();
    const std::size_t num_parts =
        num_rows <= limit ? (num_rows > 0 ? 1 : 0) : (num_rows + fill_rows() - 1) / fill_rows();
    rebalance.parts.resize(num_parts);
    for (Rebalance::Part& part : rebalance.parts) part.slot = leaf_slots_->take();
  }
  tbb::enumerable_thread_specific<LeafWriter> writers([&] { return LeafWriter(*next_, change); });
  for_each(rebalances.size(), [&](std::size_t r) {
    Rebalance& rebalance = rebalances[r];
    cut_evenly(rebalance, change);
    SuffixExtremes suffix = suffix_of(rebalance.edits.back(), change);
    for (std::size_t p = rebalance.parts.size(); p-- > 0;) {
      Rebalance::Part& part = rebalance.parts[p];
      writers.local().write(part.slot, rebalance.partition, part.runs, suffix);
      part.rows.resize(static_cast<std::size_t>(next_->layout.num_rows()));
      writers.local().bound(part.slot, 0, next_->leaf(part.slot).num_rows, part.rows);
      suffix.include_leaf(*next_, part.slot);
    }
  });
}

// Gives each part its rows.
void TreeWriter::cut_evenly(Rebalance& rebalance, const Change& change) const {
  std::vector<Run> runs;
  std::size_t num_rows = 0;
  for (const PageEdit& edit : rebalance.edits) {
    for (const Run& run : runs_of(edit, change)) runs.push_back(run);
    num_rows += rows_after(edit);
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

// Puts the parts into the tree, and tells the nodes above what they may have more than before.
void TreeWriter::place(std::span<Rebalance> rebalances, const Change& change) {
  if (rebalances.empty()) return;
  std::vector<PageNumber> parents;
  for (const Rebalance& rebalance : rebalances)
    for (const PageNumber page : rebalance.pages) parents.push_back(leaves_[page].parent);
  nodes_->own(std::move(parents));
  for (Rebalance& rebalance : rebalances) place_parts(rebalance, change);
  std::vector<TreeNodes::BoundRaise> raises;
  for (Rebalance& rebalance : rebalances)
    for (std::size_t p = 0; p < rebalance.parts.size(); ++p)
      raises.push_back({leaves_[rebalance.pages[p]].parent, std::move(rebalance.parts[p].rows)});
  nodes_->carry_up(std::move(raises));
}

// Puts the parts in the place of the pages: as many as there are keep their numbers.
void TreeWriter::place_parts(Rebalance& rebalance, const Change& change) {
  std::vector<PageNumber>& pages = partitions_[rebalance.partition];
  std::vector<std::uint32_t> old_slots;
  for (const PageNumber page : rebalance.pages) old_slots.push_back(leaves_[page].slot);
  const std::size_t first = position_in_partition(rebalance.pages.front());
  for (std::size_t p = 0; p < rebalance.parts.size(); ++p) {
    const Rebalance::Part& part = rebalance.parts[p];
    if (p >= rebalance.pages.size()) {
      const PageNumber page = new_leaf_page();
      leaves_[page].slot = part.slot;
      set_first(page);
      nodes_->insert_leaf(TreeNodes::Side::after, rebalance.pages[p - 1], page, part.rows);
      pages.insert(pages.begin() + static_cast<std::ptrdiff_t>(first + p), page);
      rebalance.pages.push_back(page);
    } else {
      nodes_->set_leaf(rebalance.pages[p], part.slot, part.rows);
      set_first(rebalance.pages[p]);
      leaves_[rebalance.pages[p]].num_erased = 0;
    }
    move_ids(part.runs, rebalance.pages[p], change);
  }
  for (std::size_t p = rebalance.parts.size(); p < rebalance.pages.size(); ++p) {
    const PageNumber page = rebalance.pages[p];
    nodes_->remove_leaf(page);
    pages.erase(std::find(pages.begin(), pages.end(), page));
    leaves_[page] = {};
    free_leaf_pages_.push_back(page);
    --next_->num_leaves;
    if (pages.empty()) ++num_empty_partitions_;
  }
  for (const std::uint32_t slot : old_slots) release(slot);
}

void TreeWriter::set_first(PageNumber page) {
  leaves_[page].first_order = order_at(*next_, leaves_[page].slot, 0);
  leaves_[page].first_id = next_->leaf_ids(leaves_[page].slot)[0];
}

void TreeWriter::move_ids(std::span<const Run> runs, PageNumber page, const Change& change) {
  for (const Run& run : runs) {
    if (run.slot == kOfBatch) {
      for (std::uint32_t r = run.first; r < run.first + run.count; ++r) ids_.insert(change.ids[r], page);
      continue;
    }
    const PageNumber from = nodes_->leaf_in(run.slot);
    const std::int64_t* ids = next_->leaf_ids(run.slot);
    if (from == page) continue;
    for (std::uint32_t r = run.first; r < run.first + run.count; ++r) ids_.prefetch(ids[r]);
    for (std::uint32_t r = run.first; r < run.first + run.count; ++r) ids_.move(ids[r], from, page);
  }
}

}  // namespace culmen
