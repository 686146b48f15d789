// ShardMap: what a mirror of a part of an index holds, and where.
//
// The parts of an index are dealt by partitions, whose numbers leaves keep: a few neighbouring ones to the first device,
// the next few to the second, and so on. A part has the leaves of its partitions, and the nodes above them without other
// children. Its slots are its own; it gives back the slot of a block whose place on the host another block has taken,
// since no version that can still be read has the old one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/pages.h"
#include "index/snapshot.h"
#include "index/tree_changes.h"

namespace culmen::gpu {

struct ShardPart {
  std::uint32_t shard = 0, num_shards = 1;
  std::uint32_t partitions_each = 1;  // dealt together

  bool has(std::uint32_t partition) const { return partition / partitions_each % num_shards == shard; }
};

// Slots on the host and on the device of the blocks of one kind.
class SlotNumbers {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  explicit SlotNumbers(std::size_t capacity) : on_device_(0, capacity), on_host_(0, capacity) {}

  // Makes room for slots of the host below `host_slots`.
  void grow(std::size_t host_slots);
  void take(std::uint32_t host);
  void release(std::uint32_t host);
  // kNone: the device does not have it. While slots of live versions are asked for, others may be taken.
  std::uint32_t on_device(std::uint32_t host) const { return on_device_[host] - 1; }
  bool has(std::uint32_t host) const { return on_device(host) != kNone; }
  std::uint32_t on_host(std::uint32_t device) const { return on_host_[device]; }
  std::size_t size() const { return size_; }  // slots of the device

 private:
  PageBuffer<std::uint32_t> on_device_;  // plus 1; 0: none. It does not move when it grows
  PageBuffer<std::uint32_t> on_host_;
  std::vector<std::uint32_t> free_;
  std::uint32_t size_ = 0;
};

// The same slots as the device calls them. Null: as the host does.
std::vector<std::uint32_t> slots_on_device(std::span<const std::uint32_t> host, const SlotNumbers* numbers);

class ShardMap {
 public:
  ShardMap(const ShardPart& part, const SlotArena& arena)
      : part_(part), leaves_(arena.leaf_capacity()), nodes_(arena.node_capacity()) {}

  // Follows a version with these changes. Returns those of the part: slots of the host for leaves and nodes that are to
  // be copied, and of the device for level-1 nodes. May be called again with the same changes.
  TreeChanges update(const Snapshot& snapshot, const TreeChanges& changes);

  const ShardPart& part() const { return part_; }
  const SlotNumbers& leaves() const { return leaves_; }
  const SlotNumbers& nodes() const { return nodes_; }
  // Those of these slots of the host that the part has.
  std::vector<std::uint32_t> own_leaves(const std::vector<std::uint32_t>& host) const;
  std::vector<std::uint32_t> own_nodes(const std::vector<std::uint32_t>& host) const;

  // Writes a node of the host, or its child zones, with its children on the device.
  void write_node(const Snapshot& snapshot, std::uint32_t host, std::byte* to) const;
  void write_child_zones(const Snapshot& snapshot, std::uint32_t host, std::byte* to) const;

 private:
  bool has_child(NodeRef node, std::size_t child) const {
    const SlotNumbers& below = node.header().level == 1 ? leaves_ : nodes_;
    return below.has(node.children()[child]);
  }

  ShardPart part_;
  SlotNumbers leaves_, nodes_;
};

}  // namespace culmen::gpu
