// Mirror: a snapshot's copy for one device. Immutable once made.
#pragma once

#include "culmen/device.h"
#include "index/snapshot.h"
#include "query/cuda/buffer.h"
#include "query/gpu/mirror_ref.h"

namespace culmen::gpu {

class Mirror {
 public:
  // Copies the snapshot, which must have rows, to the current device. Throws OutOfDeviceMemory or CudaError;
  // nothing stays allocated then.
  Mirror(const Snapshot& snapshot, const DeviceOptions& options);

  const MirrorRef& ref() const { return ref_; }
  DeviceMemory memory() const { return memory_; }
  std::size_t device_bytes() const { return device_bytes_; }

 private:
  void upload_rows(const Snapshot& snapshot, cuda::Memory memory);
  void upload_tree(const Snapshot& snapshot);
  void upload_slots(const Snapshot& snapshot);

  MirrorRef ref_ = {};
  DeviceMemory memory_;
  std::size_t device_bytes_ = 0;
  cuda::Buffer<std::byte> values_, corners_, nodes_;
  cuda::Buffer<std::int64_t> ids_, slot_min_ids_;
  cuda::Buffer<LeafHeader> leaves_;
  cuda::Buffer<PartitionRange> partitions_;
  cuda::Buffer<AttributeBounds> attributes_;
  cuda::Buffer<Half> slot_bounds_;
  cuda::Buffer<std::uint32_t> leaf_order_, slot_nodes_;
};

}  // namespace culmen::gpu
