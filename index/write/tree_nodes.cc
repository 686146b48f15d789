#include "index/write/tree_nodes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/for_each.h"

namespace culmen {
namespace {

void sort_unique(std::vector<PageNumber>& pages) {
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
}

}  // namespace

TreeNodes::TreeNodes(const Snapshot& base, LeafPages& leaves)
    : leaves_(leaves),
      slots_(
          base.arena->node_slots(), base.arena->node_capacity(),
          [arena = base.arena](std::size_t n) { arena->grow_nodes(n); }, base.arena->older_versions()) {
  const TreeOrder& order = base.order();
  for (PageNumber page = 0; page < leaves_.size(); ++page) note_slot(leaf_of_slot_, order.leaves[page], page);
  pages_.resize(order.nodes.size());
  for (PageNumber page = 0; page < pages_.size(); ++page) {
    pages_[page].slot = order.nodes[page];
    note_slot(node_of_slot_, order.nodes[page], page);
    const NodeRef node = base.node(order.nodes[page]);
    for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
      if (node.header().level == 1) {
        leaves_[leaf_in(node.children()[c])].parent = page;
      } else {
        pages_[node_in(node.children()[c])].parent = page;
      }
    }
  }
}

void TreeNodes::note_slot(std::vector<PageNumber>& of_slot, std::uint32_t slot, PageNumber page) {
  if (slot >= of_slot.size()) of_slot.resize(std::size_t{slot} + slot / 4 + 64, kNoPage);
  of_slot[slot] = page;
}

void TreeNodes::begin_version(Snapshot& next) {
  next_ = &next;
  slots_.reclaim();
}

void TreeNodes::end_version(const Snapshot& base) {
  slots_.end_version(base.as_older());
  next_ = nullptr;
}

// ---- Copy on write

void TreeNodes::make_writable(std::vector<PageNumber> pages, const std::function<void(std::size_t)>& edit) {
  sort_unique(pages);
  std::vector<Copy> copies;  // one for each of the pages, then those above
  std::vector<PageNumber> above;
  for (const PageNumber page : pages) copies.push_back(claim(page, above));
  while (!above.empty()) {
    std::vector<PageNumber> level = std::exchange(above, {});
    sort_unique(level);
    for (const PageNumber page : level) copies.push_back(claim(page, above));
  }
  for_each(copies.size() - pages.size(), [&](std::size_t i) { copy_node(copies[pages.size() + i]); });
  std::for_each(copies.rbegin(), copies.rend(), [this](const Copy& copy) { link(copy); });
  for_each(pages.size(), [&](std::size_t i) {
    copy_node(copies[i]);
    if (edit) edit(i);  // while the node is in the cache
  });
}

// Takes a slot for the page unless it is writable, and then adds its parent to `above`.
TreeNodes::Copy TreeNodes::claim(PageNumber page, std::vector<PageNumber>& above) {
  const std::uint32_t slot = pages_[page].slot;
  if (is_writable(page)) return {page, slot, slot};
  if (!is_root(page)) above.push_back(pages_[page].parent);
  return {page, slot, slots_.take()};
}

void TreeNodes::copy_node(const Copy& copy) const {
  if (copy.from == copy.to) return;
  const MutableNode to = next_->arena->mutable_node(copy.to);
  __builtin_prefetch(next_->arena->node_zone_map(copy.from));
  std::memcpy(to.bytes, next_->node(copy.from).bytes, next_->arena->node_bytes());
  to.header().version = next_->version;
  SlotArena& arena = *next_->arena;
  std::memcpy(arena.node_zone_map(copy.to), arena.node_zone_map(copy.from),
              kZoneVectors * arena.shape().zone_vector_bytes());
  std::memcpy(arena.child_zones_bytes(copy.to), arena.child_zones_bytes(copy.from),
              arena.child_zones_layout().node_bytes());
}

// Makes the parent, which is linked itself, refer to the page's new slot.
void TreeNodes::link(const Copy& copy) {
  if (copy.from == copy.to) return;
  pages_[copy.page].slot = copy.to;
  note_slot(node_of_slot_, copy.to, copy.page);
  slots_.retire(copy.from, next_->node(copy.from).header().version);
  if (is_root(copy.page)) {
    next_->root = copy.to;
  } else {
    const MutableNode above = writable(parent(copy.page));
    above.children()[position_of({above.bytes}, copy.from)] = copy.to;
  }
}

void TreeNodes::make_all_writable() {
  std::vector<PageNumber> lowest;
  for (PageNumber page = 0; page < leaves_.size(); ++page)
    if (leaves_[page].parent != kNoPage) lowest.push_back(leaves_[page].parent);
  make_writable(std::move(lowest));
}

// ---- Pages and links

PageNumber TreeNodes::new_page() {
  if (free_pages_.empty()) {
    pages_.emplace_back();
    return static_cast<PageNumber>(pages_.size() - 1);
  }
  const PageNumber page = free_pages_.back();
  free_pages_.pop_back();
  pages_[page] = {};
  return page;
}

PageNumber TreeNodes::new_node(std::uint32_t level) {
  const PageNumber page = new_page();
  pages_[page].slot = slots_.take();
  note_slot(node_of_slot_, pages_[page].slot, page);
  const MutableNode fresh = writable(page);
  std::memset(fresh.bytes, 0, next_->arena->node_bytes());
  fresh.header().level = level;
  fresh.header().min_id = kNoId;
  fresh.header().version = next_->version;
  ++next_->num_nodes;
  return page;
}

void TreeNodes::drop(PageNumber page) {
  if (is_writable(page)) {
    slots_.give_back(pages_[page].slot);
  } else {
    slots_.retire(pages_[page].slot, node(page).header().version);
  }
  pages_[page] = {kNoPage, kNoPage};
  free_pages_.push_back(page);
  --next_->num_nodes;
}

void TreeNodes::adopt(PageNumber page) {
  const NodeRef parent = node(page);
  for (std::uint32_t c = 0; c < parent.header().num_children; ++c) {
    const std::uint32_t slot = parent.children()[c];
    if (parent.header().level == 1) {
      leaves_[leaf_in(slot)].parent = page;
    } else {
      pages_[node_in(slot)].parent = page;
    }
  }
}

void TreeNodes::set_leaf(PageNumber leaf, std::uint32_t slot, std::span<const float> rows) {
  const MutableNode node = writable(leaves_[leaf].parent);
  const std::uint32_t position = position_of({node.bytes}, leaves_[leaf].slot);
  leaves_[leaf].slot = slot;
  note_leaf_slot(leaf, slot);
  node.children()[position] = slot;
  node.min_ids()[position] = next_->leaf(slot).min_id;
  set_column(next_->layout, node, position, rows);
  update_min_id(node);
}

}  // namespace culmen
