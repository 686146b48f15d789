// FieldSlots: what predicates read on a device besides values and ids: the LeafFields of leaves and the child zones of nodes. As in SlotArrays, a slot is written when no version that a search may still be reading
// refers to it.
//
// LeafFields are in LeafChunks. A mirror starts again with new FieldSlots once these are mostly unused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/cuda/growing_buffer.h"
#include "gpu/mirror/leaf_chunks.h"
#include "gpu/mirror/shard_map.h"
#include "gpu/mirror/slot_arrays.h"
#include "gpu/mirror/uploader.h"
#include "index/snapshot.h"

namespace culmen::gpu {

class FieldSlots {
 public:
  // Whether filters and queries of this version may read any of it.
  static bool are_needed(const Snapshot& snapshot);
  // Bytes that a version takes with so many slots; 0 if they are not needed.
  static FieldBytes bytes_of(const Snapshot& snapshot, const SlotCounts& slots);

  // On the current device, for these slots of a snapshot. leaves_on_host: LeafFields are in pinned host memory. Throws
  // OutOfDeviceMemory or CudaError.
  FieldSlots(const Snapshot& snapshot, const SlotCounts& slots, bool leaves_on_host);

  // Makes room for the slots of a later version. Returns false if they do not fit in place.
  bool grow(const SlotCounts& slots);
  bool is_mostly_unused() const { return chunks_.are_mostly_unused(); }

  // Enqueues the copy of leaves and nodes to their slots, by their slots on the host. map: of a part of the index, or
  // null. Returns the number of bytes. Throws as the constructor.
  std::size_t write(const Snapshot& snapshot, std::span<const std::uint32_t> leaves,
                    std::span<const std::uint32_t> nodes, const ShardMap* map, Uploader& uploader);

  std::size_t device_bytes() const;
  // [slot] addresses of LeafFields; null: the leaf has none.
  const std::byte* const* leaf_fields() const {
    return reinterpret_cast<const std::byte* const*>(addresses_.data());
  }
  const std::byte* child_zones() const { return child_zones_.data(); }  // [slot] of node_bytes()
  std::uint32_t node_bytes() const { return static_cast<std::uint32_t>(node_bytes_); }

 private:
  std::size_t node_bytes_;
  cuda::GrowingBuffer addresses_, child_zones_;
  LeafChunks chunks_;
};

}  // namespace culmen::gpu
