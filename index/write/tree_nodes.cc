#include "index/write/tree_nodes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/for_each.h"
#include "index/leaf_bounds.h"
#include "index/node_zone_map.h"

namespace culmen {
namespace {

// Below a quarter a node is merged with a neighbour, or takes children from it.
constexpr std::uint32_t kMinChildren = kFanOut / 4;
// A merge leaves room, or the next insert would split again.
constexpr std::uint32_t kMergedChildren = kFanOut - kFanOut / 8;

template <typename Number>
void sort_unique(std::vector<Number>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
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
  reshaped_.clear();
  slots_.end_version(base.as_older());
  next_ = nullptr;
}

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
  for_each(copies.size() - pages.size(), [&](std::size_t i) { carry_out(copies[pages.size() + i]); });
  std::for_each(copies.rbegin(), copies.rend(), [this](const Copy& copy) { link(copy); });
  for_each(pages.size(), [&](std::size_t i) {
    carry_out(copies[i]);
    if (edit) edit(i);  // while the node is in the cache
  });
}

// The page's next slot; its own if it is owned, and so are all above it.
TreeNodes::Copy TreeNodes::claim(PageNumber page, std::vector<PageNumber>& above) {
  const std::uint32_t slot = pages_[page].slot;
  if (is_writable(page)) return {page, slot, slot};
  if (!is_root(page)) above.push_back(pages_[page].parent);
  return {page, slot, slots_.take()};
}

void TreeNodes::carry_out(const Copy& copy) const {
  if (copy.from == copy.to) return;
  const MutableNode to = next_->arena->mutable_node(copy.to);
  __builtin_prefetch(next_->arena->node_zone_map(copy.from));
  std::memcpy(to.bytes, next_->node(copy.from).bytes, next_->arena->node_bytes());
  to.header().version = next_->version;
  std::memcpy(next_->arena->node_zone_map(copy.to), next_->arena->node_zone_map(copy.from),
              kZoneVectors * next_->arena->shape().zone_vector_bytes());
}

// What leads to the page leads to its new slot from now on. The node above it has been linked.
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

void TreeNodes::loosen_all() {
  for (std::uint32_t level = 1; level <= static_cast<std::uint32_t>(next_->height); ++level)
    for_each(pages_.size(), [&](std::size_t p) {
      const auto page = static_cast<PageNumber>(p);
      if (pages_[page].slot == kNoPage || node(page).header().level != level) return;  // or a free page
      const MutableNode above = writable(page);
      if (level == 1) return loosen(above);
      for (std::uint32_t c = 0; c < above.header().num_children; ++c)
        set_column(next_->layout, above, c, own_bounds(next_->node(above.children()[c])));
    });
}

// A leaf's values are no larger than its bounds: a huge one elsewhere does not loosen them.
void TreeNodes::loosen(MutableNode node) const {
  const BoundLayout& layout = next_->layout;
  const std::uint32_t num_children = node.header().num_children;
  std::vector<std::vector<double>> error_bound;  // of each child
  for (std::uint32_t c = 0; c < num_children; ++c) {
    std::vector<double> max_abs;
    for (int i = 0; i < layout.num_attributes(); ++i) {
      const double highest = node.bounds()[layout.maximum_row(i)][c],
                   lowest = node.bounds()[layout.minimum_row(i)][c];
      max_abs.push_back(std::max(std::fabs(highest), std::fabs(lowest)));
    }
    error_bound.push_back(bound_error(layout, max_abs));
  }
  for (std::size_t row = 0; row < static_cast<std::size_t>(layout.num_rows()); ++row) {
    const Extreme extreme = layout.extreme_of(static_cast<int>(row));
    BoundRow& bounds = node.bounds()[row];
    float loosened[kFanOut];
    for (std::uint32_t c = 0; c < num_children; ++c) {
      const auto bound = static_cast<double>(bounds[c]);
      loosened[c] = extreme == Extreme::maximum ? bound_above(bound + error_bound[c][row])
                                                : bound_below(bound - error_bound[c][row]);
    }
    bounds.encode(std::span(loosened, num_children), extreme);
  }
}

void TreeNodes::propagate(std::vector<Edited> edited) {
  while (!edited.empty() && !is_root(edited.front().node)) {
    std::sort(edited.begin(), edited.end(), [this](const Edited& a, const Edited& b) {
      return parent(a.node) != parent(b.node) ? parent(a.node) < parent(b.node) : a.node < b.node;
    });
    std::vector<std::size_t> starts;  // of those below each parent
    for (std::size_t i = 0; i < edited.size(); ++i)
      if (i == 0 || parent(edited[i].node) != parent(edited[i - 1].node)) starts.push_back(i);
    starts.push_back(edited.size());
    std::vector<Edited> above(starts.size() - 1);
    for_each(above.size(), [&](std::size_t p) {
      above[p].node = parent(edited[starts[p]].node);
      for (std::size_t i = starts[p]; i < starts[p + 1]; ++i) propagate(edited[i], above[p]);
      if (above[p].is_reshaped) recode_coarse_rows(writable(above[p].node));
      update_min_id(writable(above[p].node));
    });
    edited = std::move(above);
  }
  for (const Edited& root : edited)
    if (root.is_reshaped || root.has_new_zone_map) update_zone_map(root.node);
}

// Of an owned node, from its children's. Returns true if they are not what they were.
bool TreeNodes::update_zone_map(PageNumber page) const {
  return update_node_zone_map(*next_->arena, pages_[page].slot);
}

// Updates the node's entry in its parent, from the node's own bounds as they are coded: where the scale of a row has
// changed, those of children that did not change may be others, too. Adds the parent's changed rows to `above`.
void TreeNodes::propagate(Edited& edited, Edited& above) {
  const BoundLayout& layout = next_->layout;
  const MutableNode parent_node = writable(above.node);
  const NodeRef below = node(edited.node);
  const std::uint32_t position = position_of({parent_node.bytes}, pages_[edited.node].slot);
  parent_node.min_ids()[position] = below.header().min_id;
  if (edited.is_reshaped || edited.has_new_zone_map) above.has_new_zone_map |= update_zone_map(edited.node);
  if (edited.is_reshaped) {
    above.is_reshaped = true;
    return set_column(layout, parent_node, position, own_bounds(below));
  }
  sort_unique(edited.changed_rows);
  for (const std::uint16_t row : edited.changed_rows) {
    const float bound = below.bounds()[row].farthest_out(below.header().num_children);
    BoundRow& bounds = parent_node.bounds()[row];
    const std::uint32_t num_children = parent_node.header().num_children;
    if (bounds.is_tight(position, bound, layout.extreme_of(row)) ||
        !bounds.set(position, bound, num_children, layout.extreme_of(row)))
      continue;
    if (bounds.is_coarse(num_children) || bounds.has_outliers(num_children)) recode(parent_node, row);
    above.changed_rows.push_back(row);
  }
}

// Of a node above level 1.
void TreeNodes::recode_coarse_rows(MutableNode node) const {
  for (int row = 0; row < next_->layout.num_rows(); ++row)
    if (node.bounds()[row].is_coarse(node.header().num_children))
      recode(node, static_cast<std::uint16_t>(row));
}

// Codes a row of bounds of a node above level 1 again, from its children's own.
void TreeNodes::recode(MutableNode node, std::uint16_t row) const {
  float bounds[kFanOut];
  const std::uint32_t num_children = node.header().num_children;
  for (std::uint32_t c = 0; c < num_children; ++c) {
    const NodeRef child = next_->node(node.children()[c]);
    bounds[c] = child.bounds()[row].farthest_out(child.header().num_children);
  }
  node.bounds()[row].encode(std::span(bounds, num_children), next_->layout.extreme_of(row));
}

// Of a node, from those of its children.
BoundRows TreeNodes::own_bounds(NodeRef node) const {
  BoundRows rows(static_cast<std::size_t>(next_->layout.num_rows()));
  aggregate_bounds(node.bounds(), node.header().num_children, rows);
  return rows;
}

void TreeNodes::set_leaf(PageNumber leaf, std::uint32_t slot, std::span<const float> rows) {
  const MutableNode node = writable(leaves_[leaf].parent);
  const std::uint32_t position = position_of({node.bytes}, leaves_[leaf].slot);
  leaves_[leaf].slot = slot;
  leaf_is_in(leaf, slot);
  node.children()[position] = slot;
  node.min_ids()[position] = next_->leaf(slot).min_id;
  set_column(next_->layout, node, position, rows);
  update_min_id(node);
}

void TreeNodes::insert_leaf(Side side, PageNumber neighbour, PageNumber leaf, std::span<const float> rows) {
  if (node(leaves_[neighbour].parent).header().num_children == kFanOut) split(leaves_[neighbour].parent);
  const PageNumber parent = leaves_[neighbour].parent;
  leaves_[leaf].parent = parent;
  leaf_is_in(leaf, leaves_[leaf].slot);
  const std::uint32_t position = position_of(node(parent), leaves_[neighbour].slot);
  insert_child(parent, side == Side::after ? position + 1 : position, leaves_[leaf].slot,
               next_->leaf(leaves_[leaf].slot).min_id, rows);
}

void TreeNodes::remove_leaf(PageNumber leaf) {
  remove_child(leaves_[leaf].parent, leaves_[leaf].slot);
}

std::vector<PageNumber> TreeNodes::take_reshaped() {
  std::vector<PageNumber> reshaped = std::exchange(reshaped_, {});
  std::erase_if(reshaped, [this](PageNumber page) {  // its number may be another node's by now
    return pages_[page].slot == kNoPage || node(page).header().level > 1 || !is_writable(page);
  });
  return reshaped;
}

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

// Without children and without parent.
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

// A node that nothing refers to any more.
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

// Tells the children of a node who their parent is.
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

// The node's own zone map, and its column in its parent, from its children.
void TreeNodes::aggregate_into_parent(PageNumber page) {
  update_zone_map(page);
  const MutableNode above = writable(parent(page));
  const NodeRef child = node(page);
  const std::uint32_t position = position_of({above.bytes}, pages_[page].slot);
  set_column(next_->layout, above, position, own_bounds(child));
  above.min_ids()[position] = child.header().min_id;
}

void TreeNodes::propagate_to_root(PageNumber page) {
  for (; !is_root(page); page = parent(page)) {
    aggregate_into_parent(page);
    update_min_id(writable(parent(page)));
  }
  update_zone_map(page);
}

// The parent is owned and has room.
void TreeNodes::insert_child(PageNumber parent, std::uint32_t position, std::uint32_t slot,
                             std::int64_t min_id, std::span<const float> rows) {
  const MutableNode node = writable(parent);
  open_column(next_->layout, node, position);
  node.children()[position] = slot;
  node.min_ids()[position] = min_id;
  set_column(next_->layout, node, position, rows);
  update_min_id(node);
}

// A new root above the old one.
void TreeNodes::raise_root() {
  const PageNumber old_root = node_in(next_->root);
  const PageNumber root = new_node(node(old_root).header().level + 1);
  const MutableNode above = writable(root);
  above.header().num_children = 1;
  above.children()[0] = next_->root;
  pages_[old_root].parent = root;
  aggregate_into_parent(old_root);
  update_min_id(above);
  next_->root = pages_[root].slot;
  ++next_->height;
}

// The upper half of the children moves to a new node behind this one.
void TreeNodes::split(PageNumber page) {
  if (is_root(page)) raise_root();
  if (node(parent(page)).header().num_children == kFanOut) split(parent(page));
  const PageNumber fresh = new_node(node(page).header().level);
  const MutableNode left = writable(page), right = writable(fresh);
  const std::uint32_t half = left.header().num_children / 2;
  append_columns(next_->layout, right, {left.bytes}, half, left.header().num_children - half);
  close_columns(next_->layout, left, half, left.header().num_children - half);
  update_min_id(left);
  update_min_id(right);
  adopt(fresh);
  reshaped_.insert(reshaped_.end(), {page, fresh});
  const PageNumber above = parent(page);
  pages_[fresh].parent = above;
  aggregate_into_parent(page);
  update_zone_map(fresh);
  insert_child(above, position_of(node(above), pages_[page].slot) + 1, pages_[fresh].slot,
               right.header().min_id, own_bounds({right.bytes}));
}

void TreeNodes::remove_child(PageNumber parent, std::uint32_t slot) {
  make_writable({parent});
  const MutableNode node = writable(parent);
  close_columns(next_->layout, node, position_of({node.bytes}, slot), 1);
  if (node.header().num_children == 0) {
    const PageNumber above = this->parent(parent);
    remove_child(above, pages_[parent].slot);  // the root is never without children: see TreeWriter
    drop(parent);
    return;
  }
  update_min_id(node);
  reshaped_.push_back(parent);
  propagate_to_root(parent);
  if (is_root(parent)) {
    lower_root();
  } else if (node.header().num_children < kMinChildren) {
    fill_up(parent);
  }
}

// A root with one child that is a node gives way to it.
void TreeNodes::lower_root() {
  PageNumber root = node_in(next_->root);
  while (node(root).header().level > 1 && node(root).header().num_children == 1) {
    const std::uint32_t child = node(root).children()[0];
    drop(root);
    root = node_in(child);
    pages_[root].parent = kNoPage;
    next_->root = child;
    --next_->height;
  }
}

// Merges a node of few children with a neighbour, or shares the neighbour's children with it.
void TreeNodes::fill_up(PageNumber page) {
  const NodeRef above = node(parent(page));
  const std::uint32_t position = position_of(above, pages_[page].slot);
  if (above.header().num_children == 1) return;
  const bool with_next = position + 1 < above.header().num_children;
  const PageNumber neighbour = node_in(above.children()[with_next ? position + 1 : position - 1]);
  make_writable({neighbour});
  const PageNumber left = with_next ? page : neighbour, right = with_next ? neighbour : page;
  if (node(left).header().num_children + node(right).header().num_children <= kMergedChildren) {
    merge(left, right);
  } else {
    even_out(left, right);
  }
}

void TreeNodes::merge(PageNumber left, PageNumber right) {
  append_columns(next_->layout, writable(left), node(right), 0, node(right).header().num_children);
  update_min_id(writable(left));
  adopt(left);
  reshaped_.push_back(left);
  aggregate_into_parent(left);
  update_min_id(writable(parent(left)));
  propagate_to_root(parent(left));  // what was coded once more may have become looser
  const PageNumber above = parent(right);
  remove_child(above, pages_[right].slot);
  drop(right);
}

void TreeNodes::even_out(PageNumber left, PageNumber right) {
  const MutableNode a = writable(left), b = writable(right);
  const std::uint32_t in_a = a.header().num_children, in_b = b.header().num_children;
  const std::uint32_t half = (in_a + in_b) / 2;
  if (in_a < half) {
    append_columns(next_->layout, a, {b.bytes}, 0, half - in_a);
    close_columns(next_->layout, b, 0, half - in_a);
  } else {
    std::vector<std::byte> copy(b.bytes, b.bytes + next_->arena->node_bytes());
    b.header().num_children = 0;
    append_columns(next_->layout, b, {a.bytes}, half, in_a - half);
    append_columns(next_->layout, b, {copy.data()}, 0, in_b);
    close_columns(next_->layout, a, half, in_a - half);
  }
  reshaped_.insert(reshaped_.end(), {left, right});
  for (const PageNumber page : {left, right}) {
    update_min_id(writable(page));
    adopt(page);
    aggregate_into_parent(page);
  }
  update_min_id(writable(parent(left)));
  propagate_to_root(parent(left));  // what was coded once more may have become looser
}

}  // namespace culmen
