// PackedRows: the values and ids of leaves in few bytes, on a device (DeviceMemory::compressed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/cuda/growing_buffer.h"
#include "gpu/mirror/leaf_chunks.h"
#include "gpu/mirror/shard_map.h"
#include "index/snapshot.h"

namespace culmen::gpu {

class Uploader;

class PackedRows {
 public:
  // About what the rows of so many leaves take, by those of a few.
  static std::size_t expected_bytes(const Snapshot& snapshot, std::size_t num_leaves);

  // addresses: memory for the slots' addresses. Rows get memory on the current device when they are written: `expected`
  // bytes first.
  PackedRows(cuda::GrowingBuffer addresses, std::size_t expected);

  // Makes room for the slots of a later version. Returns false if they do not fit in place, or if new PackedRows would take less than
  // half the memory.
  bool grow(std::size_t num_leaves);

  // Packs these leaves and enqueues the copy, by their slots on the host. map: of a part of the index, or null. Returns the
  // number of bytes. Throws OutOfDeviceMemory or CudaError.
  std::size_t write(const Snapshot& snapshot, std::span<const std::uint32_t> leaves, const ShardMap* map,
                    Uploader& uploader);

  // [slot] addresses of PackedLeaf.
  const std::byte* const* leaves() const {
    return reinterpret_cast<const std::byte* const*>(addresses_.data());
  }
  std::size_t device_bytes() const { return addresses_.size() + chunks_.device_bytes(); }

 private:
  std::size_t write_some(const Snapshot& snapshot, std::span<const std::uint32_t> leaves, const ShardMap* map,
                         Uploader& uploader);

  cuda::GrowingBuffer addresses_;
  LeafChunks chunks_;
};

}  // namespace culmen::gpu
