#include "index/write/node_balancer.h"

#include <utility>

namespace culmen {
namespace {

// A node with fewer children is merged with a neighbour or takes children from it.
constexpr std::uint32_t kMinChildren = kFanOut * 3 / 8;
// A merged node has room for inserts, or the next one would split it again.
constexpr std::uint32_t kMaxMergedChildren = kFanOut - kFanOut / 8;
// A neighbour of a full node that takes some of its children: then both have room for five.
constexpr std::uint32_t kMaxRoomyChildren = kFanOut - 10;

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
  const NodeRef above = nodes_.node(nodes_.parent(page));
  const std::uint32_t position = nodes_.position_in_parent(page);
  const std::optional<std::uint32_t> roomy = roomy_neighbour(above, position);
  if (!roomy) return split(page);
  const PageNumber neighbour = nodes_.node_in(above.children()[*roomy]);
  nodes_.know_children(neighbour);
  nodes_.make_writable({neighbour});
  *roomy > position ? even_out(page, neighbour) : even_out(neighbour, page);
}

std::optional<std::uint32_t> NodeBalancer::roomy_neighbour(NodeRef above, std::uint32_t position) const {
  const auto is_roomy = [&](std::uint32_t child) {
    return num_children(nodes_.node_in(above.children()[child])) <= kMaxRoomyChildren;
  };
  if (position + 1 < above.header().num_children && is_roomy(position + 1)) return position + 1;
  if (position > 0 && is_roomy(position - 1)) return position - 1;
  return std::nullopt;
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
  } else if (node.header().num_children < kMinChildren) {
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

// Merges a node of few children with a neighbour, or evens out their children.
void NodeBalancer::fill_up(PageNumber page) {
  const NodeRef above = nodes_.node(nodes_.parent(page));
  const std::uint32_t position = nodes_.position_in_parent(page);
  if (above.header().num_children == 1) return;
  const bool with_next = position + 1 < above.header().num_children;
  const PageNumber neighbour = nodes_.node_in(above.children()[with_next ? position + 1 : position - 1]);
  nodes_.know_children(neighbour);
  nodes_.make_writable({neighbour});
  const PageNumber left = with_next ? page : neighbour, right = with_next ? neighbour : page;
  if (num_children(left) + num_children(right) <= kMaxMergedChildren) {
    merge(left, right);
  } else {
    even_out(left, right);
  }
}

void NodeBalancer::merge(PageNumber left, PageNumber right) {
  append_columns(layout(), nodes_.writable(left), nodes_.node(right), 0, num_children(right));
  update_min_id(nodes_.writable(left));
  nodes_.adopt(left);
  reshaped_.push_back(left);
  bounds_.update_to_root(left);  // coding bounds again may have loosened them
  remove_child(nodes_.parent(right), nodes_.slot(right));
  nodes_.drop(right);
}

void NodeBalancer::even_out(PageNumber left, PageNumber right) {
  const MutableNode a = nodes_.writable(left), b = nodes_.writable(right);
  const std::uint32_t in_a = a.header().num_children, in_b = b.header().num_children;
  const std::uint32_t half = (in_a + in_b) / 2;
  if (in_a < half) {
    append_columns(layout(), a, {b.bytes}, 0, half - in_a);
    close_columns(layout(), b, 0, half - in_a);
  } else {
    std::vector<std::byte> copy(b.bytes, b.bytes + nodes_.next().arena->node_bytes());
    b.header().num_children = 0;
    append_columns(layout(), b, {a.bytes}, half, in_a - half);
    append_columns(layout(), b, {copy.data()}, 0, in_b);
    close_columns(layout(), a, half, in_a - half);
  }
  reshaped_.insert(reshaped_.end(), {left, right});
  for (const PageNumber page : {left, right}) {
    update_min_id(nodes_.writable(page));
    nodes_.adopt(page);
    bounds_.update_entry(page);
  }
  update_min_id(nodes_.writable(nodes_.parent(left)));
  bounds_.update_to_root(nodes_.parent(left));  // coding bounds again may have loosened them
}

}  // namespace culmen
