#include "index/write/tree_nodes.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "base/for_each.h"
#include "culmen/error.h"

namespace culmen {
namespace {

void sort_unique(std::vector<PageNumber>& pages) {
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
}

}  // namespace

TreeNodes::TreeNodes(const Snapshot& base, LeafPages& leaves, Loading loading)
    : leaves_(leaves),
      filed_(loading == Loading::whole ? nullptr : base.filed_tree),
      slots_(
          base.arena->node_slots(), base.arena->node_capacity(),
          [arena = base.arena](std::size_t n) { arena->grow_nodes(n); }, base.arena->older_versions(),
          filed_ == nullptr ? 0 : filed_->num_nodes()) {
  filed_ == nullptr ? read_pages(base) : number_pages();
}

// As the files number them.
void TreeNodes::number_pages() {
  leaf_of_slot_.resize(leaves_.size());
  std::iota(leaf_of_slot_.begin(), leaf_of_slot_.end(), PageNumber{0});
  node_of_slot_.resize(filed_->num_nodes());
  std::iota(node_of_slot_.begin(), node_of_slot_.end(), PageNumber{0});
  for (const std::uint32_t slot : node_of_slot_) pages_.push_back({slot, kUnknownPage});
  if (!pages_.empty()) pages_.back().parent = kNoPage;
}

void TreeNodes::read_pages(const Snapshot& base) {
  const TreeOrder& order = base.order();
  for (PageNumber page = 0; page < leaves_.size(); ++page) note_slot(leaf_of_slot_, order.leaves[page], page);
  pages_.resize(order.nodes.size());
  for (PageNumber page = 0; page < pages_.size(); ++page) {
    pages_[page].slot = order.nodes[page];
    note_slot(node_of_slot_, order.nodes[page], page);
    const NodeRef node = base.node(order.nodes[page]);
    for (std::uint32_t c = 0; c < node.header().num_children; ++c) parent_of_child(node, c) = page;
  }
}

// ---- On touch

// A page whose parent is not known has never been changed, and neither have its siblings' links: its parent is the node
// that has it in the files. Whoever changes the children of a node tells all of them their parent before.
void TreeNodes::know_parent_of_leaf(PageNumber leaf) {
  if (leaves_[leaf].parent != kUnknownPage) return;
  std::vector<PageNumber> path = {filed_parent(1, leaf)};
  while (pages_[path.back()].parent == kUnknownPage)
    path.push_back(filed_parent(path.size() + 1, path.back()));
  std::for_each(path.rbegin(), path.rend(), [this](PageNumber page) { know_children(page); });
}

void TreeNodes::know_children(PageNumber page) {
  if (filed_ == nullptr) return;
  const NodeRef parent = node(page);
  if (parent_of_child(parent, 0) == page) return;
  for (std::uint32_t c = 0; c < parent.header().num_children; ++c) {
    PageNumber& of_child = parent_of_child(parent, c);
    if (of_child != kUnknownPage)
      throw FormatError("node " + std::to_string(page) + " of the index has a child of another node");
    of_child = page;
  }
}

PageNumber& TreeNodes::parent_of_child(NodeRef node, std::uint32_t child) {
  const std::uint32_t slot = node.children()[child];
  return node.header().level == 1 ? leaves_[leaf_in(slot)].parent : pages_[node_in(slot)].parent;
}

// The node of this level that has the child in the files, where the children of all nodes of a level ascend: found by
// interpolation, since most nodes have about as many. Each step takes a node out of the search, whatever they hold.
PageNumber TreeNodes::filed_parent(std::size_t level, std::uint32_t child) const {
  const std::vector<std::uint64_t>& starts = filed_->level_starts;
  std::uint64_t first = level < starts.size() ? starts[level - 1] : 0;
  std::uint64_t end = level < starts.size() ? starts[level] : 0;
  // Children of the nodes from `first` to `end`.
  std::uint64_t low = level == 1 ? 0 : starts[level - 2];
  std::uint64_t high = level == 1 ? filed_->num_leaves : starts[level - 1];
  while (first < end) {
    const auto share = static_cast<double>(child - low) / static_cast<double>(high - low);
    const auto step = static_cast<std::uint64_t>(share * static_cast<double>(end - first));
    const std::uint64_t middle = std::min(first + step, end - 1);
    const NodeRef node = next_->node(middle);
    const std::uint64_t first_child = node.children()[0];
    const std::uint64_t end_child = first_child + node.header().num_children;
    if (child < first_child) {
      end = middle;
      high = first_child;
    } else if (child < end_child) {
      return static_cast<PageNumber>(middle);
    } else {
      first = middle + 1;
      low = end_child;
    }
  }
  throw FormatError("a leaf or a node of the index has no parent");
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
  SlotArena& arena = *next_->arena;
  const SlotArena& before = arena;
  __builtin_prefetch(before.node_zone_map(copy.from));
  std::memcpy(to.bytes, before.node(copy.from).bytes, arena.node_bytes());
  to.header().version = next_->version;
  std::memcpy(arena.node_zone_map(copy.to), before.node_zone_map(copy.from),
              kZoneVectors * arena.shape().zone_vector_bytes());
  std::memcpy(arena.child_zones_bytes(copy.to), before.child_zones(copy.from).bytes(),
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
  for (PageNumber page = 0; page < leaves_.size(); ++page) know_parent_of_leaf(page);
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
  for (std::uint32_t c = 0; c < parent.header().num_children; ++c) parent_of_child(parent, c) = page;
}

void TreeNodes::set_child_leaf(PageNumber leaf, std::uint32_t slot, std::span<const float> rows) {
  const MutableNode node = writable(leaves_[leaf].parent);
  const std::uint32_t position = position_of({node.bytes}, leaves_[leaf].slot);
  node.children()[position] = slot;
  node.min_ids()[position] = next_->leaf(slot).min_id;
  set_column(next_->layout, node, position, rows);
  update_min_id(node);
}

}  // namespace culmen
