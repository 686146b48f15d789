#include "query/gpu/mirror.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "query/cuda/managed.h"

namespace culmen::gpu {
namespace {

constexpr std::uint32_t kGroup = 32;  // slots that one warp reads together

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total));
  return free;
}

// Part of the free memory stays free, for scratch and for others.
bool fits(std::size_t num_bytes) {
  return num_bytes <= free_bytes() / 10 * 9;
}

std::size_t row_bytes(const Snapshot& snapshot) {
  const BlockShape& shape = snapshot.blocks->shape();
  return snapshot.leaf_slots * (shape.leaf_bytes() + shape.block_rows * sizeof(std::int64_t));
}

std::size_t tree_bytes(const Snapshot& snapshot) {
  const std::size_t nodes = snapshot.node_slots * snapshot.blocks->node_bytes();
  return nodes + nodes / kFanOut +
         snapshot.leaf_slots * (kNumCorners * snapshot.blocks->shape().corner_bytes() + sizeof(LeafHeader));
}

DeviceMemory choose_memory(const Snapshot& snapshot, DeviceMemory wanted) {
  const std::size_t tree = tree_bytes(snapshot), all = tree + row_bytes(snapshot);
  const bool takes_host = wanted == DeviceMemory::host || wanted == DeviceMemory::automatic;
  if (wanted != DeviceMemory::host && fits(all))
    return wanted == DeviceMemory::automatic ? DeviceMemory::device : wanted;
  if (takes_host && fits(tree)) return DeviceMemory::host;
  throw OutOfDeviceMemory(
      "this index needs " + std::to_string(takes_host ? tree : all) + " bytes of device memory; " +
      std::to_string(free_bytes()) + " are free, of which a tenth has to stay so: " +
      (takes_host ? "" : "keep its rows in host memory (DeviceMemory::host) or ") + "search on the CPU");
}

cuda::Memory kind_of(DeviceMemory memory) {
  if (memory == DeviceMemory::managed) return cuda::Memory::managed;
  return memory == DeviceMemory::host ? cuda::Memory::pinned : cuda::Memory::device;
}

std::vector<AttributeBounds> attribute_bounds(const Snapshot& snapshot) {
  std::vector<AttributeBounds> bounds;
  for (int i = 0; i < snapshot.num_attributes(); ++i) {
    const BoundUnit& unit = snapshot.units[static_cast<std::size_t>(i)];
    bounds.push_back(
        {unit.origin, unit.unit, snapshot.layout.maximum_row(i), snapshot.layout.minimum_row(i)});
  }
  return bounds;
}

}  // namespace

Mirror::Mirror(const Snapshot& snapshot, const DeviceOptions& options)
    : memory_(choose_memory(snapshot, options.memory)) {
  upload_tree(snapshot);
  upload_slots(snapshot);
  upload_rows(snapshot, kind_of(memory_));
  ref_.root = snapshot.root;
  ref_.height = snapshot.height;
  ref_.block_rows = snapshot.block_rows;
  ref_.num_attributes = snapshot.num_attributes();
  cuda::check(cudaDeviceSynchronize());
}

void Mirror::upload_rows(const Snapshot& snapshot, cuda::Memory memory) {
  const Blocks& blocks = *snapshot.blocks;
  values_ = cuda::upload(blocks.values(0), snapshot.leaf_slots * blocks.shape().leaf_bytes(), memory);
  ids_ = cuda::upload(blocks.ids(0), snapshot.leaf_slots * blocks.shape().block_rows, memory);
  if (memory == cuda::Memory::managed) {
    cuda::keep_on_device(values_.data(), values_.size_bytes());
    cuda::keep_on_device(ids_.data(), ids_.size_bytes());
  }
  ref_.values = values_.data();
  ref_.ids = ids_.data();
  if (memory != cuda::Memory::pinned) device_bytes_ += values_.size_bytes() + ids_.size_bytes();
}

void Mirror::upload_tree(const Snapshot& snapshot) {
  const Blocks& blocks = *snapshot.blocks;
  const TreeOrder& order = snapshot.order();
  leaves_ = cuda::upload(&blocks.leaf(0), snapshot.leaf_slots, cuda::Memory::device);
  corners_ =
      cuda::upload(blocks.corners(0), snapshot.leaf_slots * kNumCorners * blocks.shape().corner_bytes(),
                   cuda::Memory::device);
  leaf_order_ = cuda::upload(order.leaves.data(), order.leaves.size(), cuda::Memory::device);
  partitions_ = cuda::upload(order.partitions.data(), order.partitions.size(), cuda::Memory::device);
  const std::vector<AttributeBounds> attributes = attribute_bounds(snapshot);
  attributes_ = cuda::upload(attributes.data(), attributes.size(), cuda::Memory::device);
  const std::size_t stride = blocks.node_bytes();
  nodes_ = cuda::upload(blocks.node(0).bytes, snapshot.node_slots * stride, cuda::Memory::device);
  ref_.leaves = leaves_.data();
  ref_.corners = corners_.data();
  ref_.leaf_order = leaf_order_.data();
  ref_.partitions = partitions_.data();
  ref_.attributes = attributes_.data();
  ref_.nodes = nodes_.data();
  ref_.node_stride = stride;
  ref_.num_leaves = static_cast<std::uint32_t>(order.leaves.size());
  ref_.num_partitions = static_cast<std::uint32_t>(order.partitions.size());
  device_bytes_ += leaves_.size_bytes() + corners_.size_bytes() + leaf_order_.size_bytes() +
                   partitions_.size_bytes() + nodes_.size_bytes();
}

// A level-1 node's own bounds stand in its parent; here they are taken together again from its children,
// which spares the case of a tree that is one node.
void Mirror::upload_slots(const Snapshot& snapshot) {
  const std::vector<std::uint32_t>& nodes = snapshot.order().nodes;
  const std::vector<std::uint32_t> level_1(
      nodes.begin(), std::find_if(nodes.begin(), nodes.end(), [&snapshot](std::uint32_t node) {
        return snapshot.node(node).header().level > 1;
      }));
  const auto num_nodes = static_cast<std::uint32_t>(level_1.size());
  const std::uint32_t num_groups = (num_nodes + kGroup - 1) / kGroup;
  const std::size_t num_slots = std::size_t{num_groups} * kGroup;
  const auto num_rows = static_cast<std::size_t>(snapshot.layout.num_rows());
  std::vector<std::uint32_t> slot_nodes(num_slots, kNoNode);
  std::vector<std::int64_t> min_ids(num_slots, kNoId);
  std::vector<Half> bounds(num_rows * num_slots);
  tbb::parallel_for(std::uint32_t{0}, num_nodes, [&](std::uint32_t n) {
    // Neighbours in the tree stand in different groups.
    const std::size_t slot = std::size_t{n % num_groups} * kGroup + n / num_groups;
    const NodeRef node = snapshot.node(level_1[n]);
    slot_nodes[slot] = level_1[n];
    min_ids[slot] = node.header().min_id;
    for (std::size_t row = 0; row < num_rows; ++row) {
      const Half* children = node.bounds() + row * kFanOut;
      const bool is_minimum = static_cast<int>(row) >= snapshot.layout.first_minimum_row();
      const auto is_less = [](Half a, Half b) { return static_cast<float>(a) < static_cast<float>(b); };
      const Half* end = children + node.header().num_children;
      bounds[row * num_slots + slot] =
          is_minimum ? *std::min_element(children, end, is_less) : *std::max_element(children, end, is_less);
    }
  });
  slot_nodes_ = cuda::upload(slot_nodes.data(), slot_nodes.size(), cuda::Memory::device);
  slot_min_ids_ = cuda::upload(min_ids.data(), min_ids.size(), cuda::Memory::device);
  slot_bounds_ = cuda::upload(bounds.data(), bounds.size(), cuda::Memory::device);
  ref_.slot_nodes = slot_nodes_.data();
  ref_.slot_min_ids = slot_min_ids_.data();
  ref_.slot_bounds = slot_bounds_.data();
  ref_.num_slots = static_cast<std::uint32_t>(num_slots);
  device_bytes_ += slot_nodes_.size_bytes() + slot_min_ids_.size_bytes() + slot_bounds_.size_bytes();
}

}  // namespace culmen::gpu
