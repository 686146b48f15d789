#include "index/write/repack.h"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <utility>

#include "base/for_each.h"
#include "index/write/leaf_writer.h"

namespace culmen {

void RepackWriter::run(std::span<Repack> repacks) {
  if (repacks.empty()) return;
  write_leaves(repacks);
  std::vector<PageNumber> parents;
  for (const Repack& repack : repacks)
    for (const PageNumber page : repack.pages) parents.push_back(tree_.pages[page].parent);
  tree_.nodes.make_writable(std::move(parents));
  std::vector<std::uint32_t> old_slots;
  for (const Repack& repack : repacks)
    for (const PageNumber page : repack.pages) old_slots.push_back(tree_.pages[page].slot);
  replace_kept(repacks);
  for (Repack& repack : repacks) replace_pages(repack);
  for (const std::uint32_t slot : old_slots) tree_.release_leaf(slot);
  std::vector<PageNumber> changed = tree_.balancer.take_reshaped();
  for (const Repack& repack : repacks)
    for (std::size_t p = 0; p < repack.parts.size(); ++p)
      changed.push_back(tree_.pages[repack.pages[p]].parent);
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  tbb::enumerable_thread_specific<LeafWriter> writers(
      [&] { return LeafWriter(*tree_.next, located_.rows()); });
  for_each(changed.size(), [&](std::size_t n) {
    const MutableNode node = tree_.nodes.writable(changed[n]);
    if (has_coarse_row(tree_.next->layout, {node.bytes})) writers.local().recode(node);
  });
  std::vector<NodeBounds::Edited> edited;
  for (const PageNumber node : changed)
    edited.push_back({.node = node, .is_reshaped = true, .changed_rows = {}});
  tree_.bounds.propagate(std::move(edited));
}

void RepackWriter::write_leaves(std::span<Repack> repacks) {
  const Snapshot& s = *tree_.next;
  std::vector<Repack::Part*> parts;
  for (Repack& repack : repacks)
    for (Repack::Part& part : repack.parts) {
      part.slot = tree_.leaf_slots.take();
      parts.push_back(&part);
    }
  tbb::enumerable_thread_specific<LeafWriter> writers(
      [&] { return LeafWriter(*tree_.next, located_.rows()); });
  for_each(parts.size(), [&](std::size_t p) {
    Repack::Part& part = *parts[p];
    writers.local().write(part.slot, part.partition, part.runs);
    part.rows.resize(static_cast<std::size_t>(s.layout.num_rows()));
    writers.local().bound(part.slot, 0, s.leaf(part.slot).num_rows, part.rows);
  });
}

// Makes nodes refer to the new leaves of the pages that keep their numbers, node by node in parallel: before any node splits.
void RepackWriter::replace_kept(std::span<const Repack> repacks) {
  struct Kept {
    PageNumber node, page;
    const Repack::Part* part;
  };
  std::vector<Kept> all;
  for (const Repack& repack : repacks)
    for (std::size_t p = 0; p < repack.num_kept(); ++p)
      all.push_back({tree_.pages[repack.pages[p]].parent, repack.pages[p], &repack.parts[p]});
  std::ranges::stable_sort(all, {}, &Kept::node);
  std::vector<std::size_t> starts;  // of each node's
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i == 0 || all[i].node != all[i - 1].node) starts.push_back(i);
  starts.push_back(all.size());
  for_each(starts.size() - 1, [&](std::size_t n) {
    for (std::size_t i = starts[n]; i < starts[n + 1]; ++i)
      tree_.nodes.set_child_leaf(all[i].page, all[i].part->slot, all[i].part->rows);
  });
  for (const Kept& kept : all) tree_.nodes.note_leaf_slot(kept.page, kept.part->slot);
}

// Replaces the pages by the parts, after replace_kept(). repack.pages becomes the page of each part.
void RepackWriter::replace_pages(Repack& repack) {
  const std::size_t num_kept = repack.num_kept();
  const std::vector<PageNumber> old_pages = std::move(repack.pages);
  std::size_t position = tree_.pages.position_of(*tree_.next, old_pages.front());
  repack.pages.clear();
  for (std::size_t p = 0; p < repack.parts.size(); ++p) {
    const Repack::Part& part = repack.parts[p];
    if (!repack.pages.empty() && part.partition != tree_.pages[repack.pages.back()].partition) position = 0;
    if (p < num_kept) {
      repack.pages.push_back(old_pages[p]);
      tree_.pages[old_pages[p]].slot = part.slot;
      tree_.pages[old_pages[p]].num_erased = 0;
    } else {
      repack.pages.push_back(add_page(part, position, repack.pages.back()));
    }
    ++position;
    tree_.pages.set_first(*tree_.next, repack.pages.back());
    move_ids(part.runs, repack.pages.back());
  }
  for (const PageNumber page : std::span(old_pages).subspan(num_kept)) tree_.remove_page(page);
}

// `position`: in its partition.
PageNumber RepackWriter::add_page(const Repack::Part& part, std::size_t position, PageNumber after) {
  LeafPage page;
  page.slot = part.slot;
  page.partition = part.partition;
  return tree_.insert_page(page, position, NodeBalancer::Side::after, after, part.rows);
}

void RepackWriter::move_ids(std::span<const Run> runs, PageNumber page) {
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
