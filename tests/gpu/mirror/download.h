// Downloads a mirror's version: the slots of its tree, and the bounds slots.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/cuda/error.h"
#include "gpu/mirror/mirror_version.h"
#include "index/leaf_bounds.h"
#include "index/leaf_codes.h"
#include "index/node_zone_map.h"
#include "index/snapshot.h"
#include "index/verify.h"

namespace culmen::test {

template <typename T>
void download_to(T* to, const void* from, std::size_t num_bytes) {
  cuda::check(cudaMemcpy(to, from, num_bytes, cudaMemcpyDefault));
}

template <typename T>
std::vector<T> download(const T* from, std::size_t size) {
  std::vector<T> values(size);
  if (size > 0) download_to(values.data(), from, size * sizeof(T));
  return values;
}

// Writes the rows of a packed leaf on the device to its slot, whose header is there.
inline void unpack(const std::byte* packed, Snapshot& to, std::uint32_t slot) {
  SlotArena& arena = *to.arena;
  const std::uint32_t num_rows = arena.leaf(slot).num_rows;
  const std::size_t num_columns = gpu::kFirstAttribute + to.attributes.size();
  std::size_t num_words = 0;
  for (const gpu::ColumnHead& head : download(reinterpret_cast<const gpu::ColumnHead*>(packed), num_columns))
    num_words = std::max<std::size_t>(num_words, head.first_word + (head.num_exceptions + 3u) / 4 +
                                                     head.num_exceptions + (num_rows * head.bits + 63) / 64);
  const std::vector<std::uint64_t> words =
      download(reinterpret_cast<const std::uint64_t*>(packed), num_words + gpu::kReadAheadWords);
  const gpu::PackedLeaf leaf = {reinterpret_cast<const std::byte*>(words.data())};
  visit_value_type(to, [&]<typename T>(T) {
    T* values = reinterpret_cast<T*>(arena.values(slot));
    for (std::uint32_t row = 0; row < num_rows; ++row) {
      arena.ids(slot)[row] = leaf.id(row);
      for (std::uint32_t a = 0; a < to.attributes.size(); ++a)
        values[a * arena.shape().leaf_rows + row] = leaf.value<T>(a, row);
    }
  });
}

// A snapshot whose leaves and nodes are those of the device, in the same slots; all others are zero. It has no labels,
// which devices do not store; its codes and the zone maps of its nodes are recomputed. The version must have rows.
inline std::shared_ptr<Snapshot> download(const gpu::MirrorView& view) {
  const Snapshot& s = *view.snapshot;
  const gpu::MirrorRef& ref = view.mirror->ref();
  auto copy = std::make_shared<Snapshot>(s.metadata(), s.tree());
  copy->has_labels = false;
  copy->root = ref.root;
  copy->height = ref.height;
  copy->arena = std::make_shared<SlotArena>(copy->leaf_shape(), s.layout, s.leaf_slots, s.node_slots);
  SlotArena& arena = *copy->arena;
  const LeafShape& shape = arena.shape();
  for (const std::uint32_t slot : s.order().leaves) {
    const std::size_t rows = shape.leaf_rows, zone_map = kZoneVectors * shape.zone_vector_bytes();
    download_to(&arena.leaf(slot), ref.leaves + slot, sizeof(LeafHeader));
    if (ref.packed != nullptr) {
      unpack(download(ref.packed + slot, 1)[0], *copy, slot);
    } else {
      download_to(arena.values(slot), ref.values + slot * shape.leaf_bytes(), shape.leaf_bytes());
      download_to(arena.ids(slot), ref.ids + slot * rows, rows * sizeof(std::int64_t));
    }
    download_to(arena.zone_map(slot), ref.zone_map + slot * zone_map, zone_map);
    write_leaf_codes(arena, slot, arena.leaf(slot).num_rows);
  }
  for (const std::uint32_t slot : s.order().nodes) {  // those of level 1 first
    download_to(arena.mutable_node(slot).bytes, ref.node(slot).bytes, arena.node_bytes());
    update_node_zone_map(arena, slot);
  }
  return copy;
}

// Empty if the slots of the tree hold the same bytes.
inline std::string slot_difference(const Snapshot& a, const Snapshot& b) {
  if (a.order().leaves != b.order().leaves || a.order().nodes != b.order().nodes) return "another tree";
  const LeafShape& shape = a.arena->shape();
  const auto differ = [](const void* x, const void* y, std::size_t size) {
    return std::memcmp(x, y, size) != 0;
  };
  const SlotArena &in_a = *a.arena, &in_b = *b.arena;
  for (const std::uint32_t slot : a.order().leaves) {
    const std::string name = "leaf " + std::to_string(slot);
    if (differ(&in_a.leaf(slot), &in_b.leaf(slot), sizeof(LeafHeader))) return name + ": header";
    if (differ(in_a.values(slot), in_b.values(slot), shape.leaf_bytes())) return name + ": values";
    if (differ(in_a.ids(slot), in_b.ids(slot), shape.leaf_rows * sizeof(std::int64_t))) return name + ": ids";
    if (differ(in_a.zone_map(slot), in_b.zone_map(slot), kZoneVectors * shape.zone_vector_bytes()))
      return name + ": zone_map";
  }
  for (const std::uint32_t slot : a.order().nodes)
    if (differ(in_a.node(slot).bytes, in_b.node(slot).bytes, in_a.node_bytes()))
      return "node " + std::to_string(slot);
  return "";
}

// Empty if each level-1 node has one bounds slot, with its own bounds and its smallest id.
inline std::string bounds_slot_fault(const gpu::MirrorView& view) {
  const Snapshot& s = *view.snapshot;
  const gpu::MirrorRef& ref = view.mirror->ref();
  const std::size_t num_slots = ref.num_slots, num_rows = static_cast<std::size_t>(s.layout.num_rows());
  const std::vector<std::uint32_t> nodes = download(ref.slot_nodes, num_slots);
  const std::vector<std::int64_t> min_ids = download(ref.slot_min_ids, num_slots);
  const std::vector<Half> bounds = download(ref.slot_bounds, num_slots * num_rows);
  std::map<std::uint32_t, std::size_t> slot_of;
  for (std::size_t p = 0; p < num_slots; ++p)
    if (nodes[p] != gpu::kNoNode && !slot_of.emplace(nodes[p], p).second)
      return "node " + std::to_string(nodes[p]) + " is in two bounds slots";
  std::vector<float> expected(num_rows);
  std::size_t num_nodes = 0;
  for (const std::uint32_t slot : s.order().nodes) {
    const NodeRef node = s.node(slot);
    if (node.header().level > 1) break;
    ++num_nodes;
    const std::string name = "node " + std::to_string(slot);
    if (!slot_of.contains(slot)) return name + " has no bounds slot";
    const std::size_t bounds_slot = slot_of[slot];
    if (min_ids[bounds_slot] != node.header().min_id) return name + ": smallest id";
    aggregate_bounds(node.bounds(), node.header().num_children, expected);
    for (std::size_t row = 0; row < num_rows; ++row) {
      const bool is_maximum = s.layout.extreme_of(static_cast<int>(row)) == Extreme::maximum;
      const Half wanted = is_maximum ? round_up_to_half(expected[row]) : round_down_to_half(expected[row]);
      if (static_cast<float>(bounds[row * num_slots + bounds_slot]) != static_cast<float>(wanted))
        return name + ": bound " + std::to_string(row);
    }
  }
  return num_nodes == slot_of.size() ? "" : "a node that is not in the tree has a bounds slot";
}

// Empty if the mirror has no codes, or those of all rows.
inline std::string code_fault(const gpu::MirrorView& view) {
  const Snapshot& s = *view.snapshot;
  const gpu::MirrorRef& ref = view.mirror->ref();
  if (ref.codes.words == nullptr) return "";
  const auto leaf_rows = static_cast<std::size_t>(s.leaf_rows);
  const std::size_t stride = ref.codes.stride, num_words = ref.codes.num_words * stride;
  return visit_value_type(s, [&]<typename T>(T) -> std::string {
    for (const std::uint32_t leaf : s.order().leaves) {
      const std::vector<std::uint32_t> words = download(ref.codes.words + leaf * num_words, num_words);
      for (std::size_t a = 0; a < s.attributes.size(); ++a) {
        const auto minimum = static_cast<double>(s.zone_vector<T>(leaf, Extreme::minimum)[a]);
        const double steps =
            1 / code_step(minimum, static_cast<double>(s.zone_vector<T>(leaf, Extreme::maximum)[a]));
        for (std::size_t row = 0; row < stride; ++row) {
          const std::size_t of_row = std::min<std::size_t>(row, s.leaf(leaf).num_rows - 1);
          const auto value = static_cast<double>(s.leaf_values<T>(leaf)[a * leaf_rows + of_row]);
          const std::uint32_t code = words[a / 8 * stride + row] >> (4 * (a % 8)) & 15;
          if (static_cast<std::int32_t>(code) != code_of(value, minimum, steps))
            return "leaf " + std::to_string(leaf) + ": code of row " + std::to_string(row);
        }
      }
    }
    return "";
  });
}

// Empty if the view equals its snapshot.
inline std::string fault_in(const gpu::MirrorView& view) {
  const Snapshot& s = *view.snapshot;
  if (!view.mirror->has_rows()) return s.num_rows == 0 ? "" : "no rows";
  const std::shared_ptr<const Snapshot> copy = download(view);
  if (const std::string difference = slot_difference(s, *copy); !difference.empty()) return difference;
  if (const std::string fault = bounds_slot_fault(view); !fault.empty()) return fault;
  if (const std::string fault = code_fault(view); !fault.empty()) return fault;
  const std::vector<std::string> faults = verify_snapshot(*copy, true);
  return faults.empty() ? "" : faults.front();
}

}  // namespace culmen::test
