#include "index/write/node_balancer.h"

#include <algorithm>
#include <utility>

namespace culmen {
namespace {

// Nodes that are filled, or make room, together.
constexpr std::size_t kMostNeighbours = 4;
// A node with fewer children is merged with neighbours where that saves a node.
constexpr std::uint32_t kFewChildren = kFanOut * 3 / 4;
// A node with fewer takes some from its neighbours in any case.
constexpr std::uint32_t kMinChildren = kFanOut * 3 / 8;
// Merged nodes have room for inserts, or the next one would split one of them again.
constexpr std::uint32_t kMaxMergedChildren = kFanOut - kFanOut / 8;
// Of a full node and neighbours that take some of its children: then all have room for five.
constexpr std::uint32_t kMaxRoomyChildren = kFanOut - 5;

}  // namespace

std::vector<PageNumber> NodeBalancer::take_reshaped() {
  std::vector<PageNumber> reshaped = std::exchange(reshaped_, {});
  // The page number of a dropped node is free, or another node has it now.
  std::erase_if(reshaped, [this](PageNumber page) {
    return nodes_.is_free(page) || nodes_.node(page).header().level > 1 || !nodes_.is_writable(page);
  });
  return reshaped;
}

// ---- Inserts

void NodeBalancer::insert_leaf(Side side, PageNumber neighbour, PageNumber leaf,
                               std::span<const float> rows) {
  if (num_children(leaves_[neighbour].parent) == kFanOut) make_room(leaves_[neighbour].parent);
  const PageNumber parent = leaves_[neighbour].parent;
  const std::uint32_t slot = leaves_[leaf].slot;
  leaves_[leaf].parent = parent;
  nodes_.note_leaf_slot(leaf, slot);
  const std::uint32_t position = position_of(nodes_.node(parent), leaves_[neighbour].slot);
  insert_child(parent, side == Side::after ? position + 1 : position, slot, nodes_.next().leaf(slot).min_id,
               rows);
}

// The parent is writable and has room.
void NodeBalancer::insert_child(PageNumber parent, std::uint32_t position, std::uint32_t slot,
                                std::int64_t min_id, std::span<const float> rows) {
  const MutableNode node = nodes_.writable(parent);
  open_column(layout(), node, position);
  node.children()[position] = slot;
  node.min_ids()[position] = min_id;
  set_column(layout(), node, position, rows);
  update_min_id(node);
}

// Of a full node. Without its neighbours nodes would be little more than half full after many inserts.
void NodeBalancer::make_room(PageNumber page) {
  if (nodes_.is_root(page)) return split(page);
  const std::vector<PageNumber> pages = neighbours_that_fit(page, 0, kMaxRoomyChildren);
  pages.empty() ? split(page) : share_out(pages, pages.size());
}

// Moves the upper half of the children to a new node after this one.
void NodeBalancer::split(PageNumber page) {
  if (nodes_.is_root(page)) raise_root();
  if (num_children(nodes_.parent(page)) == kFanOut) split(nodes_.parent(page));
  const PageNumber fresh = nodes_.new_node(nodes_.node(page).header().level);
  const MutableNode left = nodes_.writable(page), right = nodes_.writable(fresh);
  const std::uint32_t half = left.header().num_children / 2;
  append_columns(layout(), right, {left.bytes}, half, left.header().num_children - half);
  close_columns(layout(), left, half, left.header().num_children - half);
  update_min_id(left);
  update_min_id(right);
  nodes_.adopt(fresh);
  reshaped_.insert(reshaped_.end(), {page, fresh});
  nodes_.set_parent(fresh, nodes_.parent(page));
  bounds_.update_entry(page);
  bounds_.update_zone_map(fresh);
  insert_child(nodes_.parent(page), nodes_.position_in_parent(page) + 1, nodes_.slot(fresh),
               right.header().min_id, bounds_.aggregate({right.bytes}));
  bounds_.update_zone_map(nodes_.parent(page));  // its children have moved
}

// Puts a new root above the old one.
void NodeBalancer::raise_root() {
  Snapshot& next = nodes_.next();
  const PageNumber old_root = nodes_.node_in(next.root);
  const PageNumber root = nodes_.new_node(nodes_.node(old_root).header().level + 1);
  const MutableNode above = nodes_.writable(root);
  above.header().num_children = 1;
  above.children()[0] = next.root;
  nodes_.set_parent(old_root, root);
  bounds_.update_entry(old_root);
  update_min_id(above);
  next.root = nodes_.slot(root);
  ++next.height;
}

// ---- Removals

void NodeBalancer::remove_leaf(PageNumber leaf) {
  remove_child(leaves_[leaf].parent, leaves_[leaf].slot);
}

void NodeBalancer::remove_child(PageNumber parent, std::uint32_t slot) {
  nodes_.make_writable({parent});
  const MutableNode node = nodes_.writable(parent);
  close_columns(layout(), node, position_of({node.bytes}, slot), 1);
  if (node.header().num_children == 0) {
    // Never the root: TreeWriter reloads when no rows remain.
    remove_child(nodes_.parent(parent), nodes_.slot(parent));
    nodes_.drop(parent);
    return;
  }
  update_min_id(node);
  reshaped_.push_back(parent);
  bounds_.update_to_root(parent);
  if (nodes_.is_root(parent)) {
    lower_root();
  } else if (node.header().num_children < kFewChildren) {
    fill_up(parent);
  }
}

// Drops the root while its only child is a node.
void NodeBalancer::lower_root() {
  Snapshot& next = nodes_.next();
  PageNumber root = nodes_.node_in(next.root);
  while (nodes_.node(root).header().level > 1 && num_children(root) == 1) {
    const std::uint32_t child = nodes_.node(root).children()[0];
    nodes_.drop(root);
    root = nodes_.node_in(child);
    nodes_.set_parent(root, kNoPage);
    next.root = child;
    --next.height;
  }
}

// Saves a node where its children and those of some neighbours need one node less; else a node of very few takes some.
void NodeBalancer::fill_up(PageNumber page) {
  std::vector<PageNumber> pages = neighbours_that_fit(page, 1, kMaxMergedChildren);
  if (!pages.empty()) return share_out(pages, pages.size() - 1);
  if (num_children(page) >= kMinChildren) return;
  pages = neighbours_that_fit(page, 0, kFanOut);
  if (!pages.empty()) share_out(pages, pages.size());
}

// The node and others beside it, as few as have at most `most_of_each` children for each of them but `num_fewer`. Empty: too
// many children, or no neighbours.
std::vector<PageNumber> NodeBalancer::neighbours_that_fit(PageNumber page, std::size_t num_fewer,
                                                          std::uint32_t most_of_each) const {
  const NodeRef above = nodes_.node(nodes_.parent(page));
  const std::size_t position = nodes_.position_in_parent(page), siblings = above.header().num_children;
  for (std::size_t size = 2; size <= std::min(kMostNeighbours, siblings); ++size) {
    const std::size_t last = std::min(position, siblings - size);
    for (std::size_t first = position < size ? 0 : position - size + 1; first <= last; ++first) {
      std::vector<PageNumber> pages;
      std::size_t children = 0;
      for (std::size_t i = first; i < first + size; ++i) {
        pages.push_back(nodes_.node_in(above.children()[i]));
        children += num_children(pages.back());
      }
      if (children <= (size - num_fewer) * most_of_each) return pages;
    }
  }
  return {};
}

// Spreads the children of neighbours evenly over the first of them; the others go.
void NodeBalancer::share_out(const std::vector<PageNumber>& pages, std::size_t num_left) {
  for (const PageNumber page : pages) nodes_.know_children(page);
  nodes_.make_writable(pages);
  std::vector<std::vector<std::byte>> copies;
  std::size_t children = 0;
  for (const PageNumber page : pages) {
    const MutableNode node = nodes_.writable(page);
    copies.emplace_back(node.bytes, node.bytes + nodes_.next().arena->node_bytes());
    children += node.header().num_children;
    close_columns(layout(), node, 0, node.header().num_children);
  }
  std::size_t copy = 0;
  std::uint32_t taken = 0;  // of the copy
  for (std::size_t i = 0; i < num_left; ++i) {
    const MutableNode node = nodes_.writable(pages[i]);
    const std::size_t wanted = children * (i + 1) / num_left - children * i / num_left;
    while (node.header().num_children < wanted) {
      const NodeRef from = {copies[copy].data()};
      const auto missing = static_cast<std::uint32_t>(wanted - node.header().num_children);
      const std::uint32_t count = std::min(missing, from.header().num_children - taken);
      append_columns(layout(), node, from, taken, count);
      taken += count;
      if (taken < from.header().num_children) continue;
      ++copy;
      taken = 0;
    }
    update_min_id(node);
    nodes_.adopt(pages[i]);
    bounds_.update_entry(pages[i]);
  }
  reshaped_.insert(reshaped_.end(), pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(num_left));
  const PageNumber parent = nodes_.parent(pages.front());
  update_min_id(nodes_.writable(parent));
  bounds_.update_to_root(parent);  // coding bounds again may have loosened them
  for (std::size_t i = num_left; i < pages.size(); ++i) {
    remove_child(nodes_.parent(pages[i]), nodes_.slot(pages[i]));
    nodes_.drop(pages[i]);
  }
}

}  // namespace culmen
