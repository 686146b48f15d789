#include "gpu/mirror/shard_map.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "index/child_zones.h"
#include "index/read_session.h"
#include "index/write/node_columns.h"

namespace culmen::gpu {
namespace {

std::vector<std::uint32_t> own(const SlotNumbers& numbers, const std::vector<std::uint32_t>& host) {
  std::vector<std::uint32_t> some;
  std::ranges::copy_if(host, std::back_inserter(some), [&](std::uint32_t slot) { return numbers.has(slot); });
  return some;
}

// The bits of the children in `kept`, moved to their new places.
std::uint32_t moved_bits(std::uint32_t bits, const std::vector<std::uint32_t>& kept) {
  std::uint32_t moved = 0;
  for (std::size_t c = 0; c < kept.size(); ++c) moved |= (bits >> kept[c] & 1u) << c;
  return moved;
}

ChildGaps moved_gaps(const ChildGaps& gaps, const std::vector<std::uint32_t>& kept) {
  return {moved_bits(gaps.some_missing, kept), moved_bits(gaps.some_present, kept)};
}

}  // namespace

void SlotNumbers::grow(std::size_t host_slots) {
  on_device_.grow(host_slots);
  on_host_.grow(host_slots);  // there are never more on the device
}

void SlotNumbers::take(std::uint32_t host) {
  if (has(host)) return;
  std::uint32_t slot = size_;
  if (free_.empty()) {
    ++size_;
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  on_device_[host] = slot + 1;
  on_host_[slot] = host;
}

void SlotNumbers::release(std::uint32_t host) {
  if (!has(host)) return;
  free_.push_back(on_device(host));
  on_device_[host] = 0;
}

std::vector<std::uint32_t> slots_on_device(std::span<const std::uint32_t> host, const SlotNumbers* numbers) {
  std::vector<std::uint32_t> there(host.begin(), host.end());
  if (numbers != nullptr)
    for (std::uint32_t& slot : there) slot = numbers->on_device(slot);
  return there;
}

TreeChanges ShardMap::update(const Snapshot& snapshot, const TreeChanges& changes) {
  leaves_.grow(snapshot.leaf_slots);
  nodes_.grow(snapshot.node_slots);
  // First what is not the part's: it leaves room.
  ReadSession session(snapshot);
  const auto is_own = [&](std::uint32_t leaf) {
    session.rest();
    return part_.has(snapshot.leaf(leaf).partition);
  };
  for (const std::uint32_t leaf : changes.leaves)
    if (!is_own(leaf)) leaves_.release(leaf);
  for (const std::uint32_t leaf : changes.leaves)
    if (is_own(leaf)) leaves_.take(leaf);
  for (auto slot = changes.nodes.rbegin(); slot != changes.nodes.rend(); ++slot) {  // from the leaves up
    session.rest();
    const NodeRef node = snapshot.node(*slot);
    bool is_empty = true;
    for (std::size_t c = 0; c < node.header().num_children; ++c) is_empty = is_empty && !has_child(node, c);
    is_empty ? nodes_.release(*slot) : nodes_.take(*slot);
  }
  TreeChanges of_part;
  of_part.leaves = own_leaves(changes.leaves);
  of_part.nodes = own_nodes(changes.nodes);
  for (const TreeChanges::Node& node : changes.level_1)
    if (nodes_.has(node.slot)) of_part.level_1.push_back({nodes_.on_device(node.slot), node.is_new});
  return of_part;
}

std::vector<std::uint32_t> ShardMap::own_leaves(const std::vector<std::uint32_t>& host) const {
  return own(leaves_, host);
}

std::vector<std::uint32_t> ShardMap::own_nodes(const std::vector<std::uint32_t>& host) const {
  return own(nodes_, host);
}

void ShardMap::write_node(const Snapshot& snapshot, std::uint32_t host, std::byte* to) const {
  std::memcpy(to, snapshot.node(host).bytes, snapshot.arena->node_bytes());
  const MutableNode node = {to};
  for (std::uint32_t c = node.header().num_children; c-- > 0;)
    if (!has_child({to}, c)) close_columns(snapshot.layout, node, c, 1);
  const SlotNumbers& below = node.header().level == 1 ? leaves_ : nodes_;
  for (std::uint32_t c = 0; c < node.header().num_children; ++c)
    node.children()[c] = below.on_device(node.children()[c]);
  update_min_id(node);
}

void ShardMap::write_child_zones(const Snapshot& snapshot, std::uint32_t host, std::byte* to) const {
  const ChildZonesLayout& layout = snapshot.arena->child_zones_layout();
  const NodeRef node = snapshot.node(host);
  std::vector<std::uint32_t> kept;
  for (std::uint32_t c = 0; c < node.header().num_children; ++c)
    if (has_child(node, c)) kept.push_back(c);
  const ChildZonesRef from = snapshot.arena->child_zones(host);
  std::memcpy(to, from.bytes(), layout.node_bytes());
  auto* gaps = reinterpret_cast<ChildGaps*>(to);
  for (std::size_t a = 0; a < layout.num_attributes; ++a) gaps[a] = moved_gaps(from.gaps(a), kept);
  auto* zones = reinterpret_cast<ChildZones*>(to + layout.zones_offset());
  for (std::size_t f = 0; f < layout.num_fields; ++f) {
    zones[f].gaps = moved_gaps(from.zones(f).gaps, kept);
    for (std::size_t c = 0; c < kept.size(); ++c) {
      zones[f].minimum[c] = from.zones(f).minimum[kept[c]];
      zones[f].maximum[c] = from.zones(f).maximum[kept[c]];
      zones[f].set[c] = from.zones(f).set[kept[c]];
    }
  }
}

}  // namespace culmen::gpu
