// SlotArrays: a device's memory for slots of leaves and nodes, as index/slot_arena.h numbers them. Versions of an
// index share it, as they share a SlotArena: a slot is written when no version that a search may still be reading
// refers to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "culmen/device.h"
#include "gpu/cuda/buffer.h"
#include "gpu/cuda/growing_buffer.h"
#include "gpu/mirror/code_words.h"
#include "gpu/mirror/half_rows.h"
#include "gpu/mirror/packed_rows.h"
#include "gpu/mirror/write_slots.h"
#include "index/snapshot.h"

namespace culmen::gpu {

// Calls f with a value of the type of rows, as visit_value_type.
template <typename F>
decltype(auto) visit_rows(const Snapshot& snapshot, const SlotRows& rows, F&& f) {
  return visit_value_type(snapshot,
                          [&]<typename V>(V) { return rows.packed != nullptr ? f(Packed<V>()) : f(V()); });
}
// Slots that a version takes on a device.
struct SlotCounts {
  std::size_t leaves = 0, nodes = 0;
};

// What fields take beside the slots: for the leaves, where the rows are, and for the nodes.
struct FieldBytes {
  std::size_t leaves = 0, nodes = 0;
};

class SlotArrays {
 public:
  // On the current device, for these slots of a snapshot, whose tree need not be complete. Memory that cannot grow gets one
  // slot in `part_on_top` more (0: none). fields: room to leave. Chooses the memory if that is automatic. Throws
  // OutOfDeviceMemory or CudaError.
  SlotArrays(const Snapshot& snapshot, const SlotCounts& slots, const FieldBytes& fields, DeviceMemory wanted,
             std::size_t part_on_top);

  // Makes room for the slots of a later version. Returns false if they do not fit in place.
  bool grow(const SlotCounts& slots);

  DeviceMemory memory() const { return memory_; }  // never automatic
  bool rows_on_host() const { return memory_ == DeviceMemory::host; }
  // Null unless memory() is compressed: then rows are there, and not in values() and ids().
  PackedRows* packed() const { return packed_.get(); }
  std::size_t device_bytes() const;
  SlotBytes sizes() const;  // of what is copied to the device
  SlotArraysRef ref() const;
  SlotRows rows() const;
  // What follows from the values: one of the two, or neither.
  const HalfRows& half() const { return half_; }
  const CodeWords& codes() const { return codes_; }
  bool has_derived() const { return half_.rows != nullptr || codes_.words != nullptr; }
  // Enqueues what leaves that are on the device have in half() or codes(). slots: in device memory. Throws CudaError.
  void write_derived(const Snapshot& snapshot, const std::uint32_t* slots, std::uint32_t num_leaves,
                     cudaStream_t stream) const;
  std::byte* values() const { return values_.data(); }
  std::byte* ids() const { return ids_.data(); }

 private:
  // Of a table of kMinHalfAttributes and more, and of all others; if there is room, beside so many bytes of others.
  void make_half_rows(const Snapshot& snapshot, const SlotCounts& slots, std::size_t of_others,
                      std::size_t part_on_top);
  void make_codes(const Snapshot& snapshot, const SlotCounts& slots, std::size_t of_others,
                  std::size_t part_on_top);

  DeviceMemory memory_;
  LeafShape shape_;
  std::unique_ptr<PackedRows> packed_;
  std::size_t node_bytes_;
  cuda::GrowingBuffer values_, ids_, leaves_, zone_maps_, nodes_;
  cuda::GrowingBuffer half_numbers_, half_leaves_;
  cuda::Buffer<HalfUnit> half_units_;
  HalfRows half_ = {};
  cuda::GrowingBuffer code_bytes_;
  CodeWords codes_ = {};
};

}  // namespace culmen::gpu
