// LeafChunks: device or host memory for blocks of any length, one for each leaf. A later version appends its blocks; those of earlier
// versions stay, since searches may still read them. Once most of the memory is unused, the owner copies everything to new chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/cuda/buffer.h"

namespace culmen::gpu {

class LeafChunks {
 public:
  // Chunks are allocated on the device that is current then. first: the bytes of the first one, at least.
  explicit LeafChunks(cuda::Memory memory, std::size_t first = 0) : memory_(memory), first_(first) {}

  // The first chunk is as large as what it is for, later ones have room for changes. Throws OutOfDeviceMemory or CudaError.
  std::byte* take(std::size_t num_bytes);
  // A slot of the host has so many bytes now.
  void count(std::uint32_t slot, std::uint32_t num_bytes);

  // Returns true if new chunks would take less than half the memory.
  bool are_mostly_unused() const;
  bool are_on_host() const { return memory_ == cuda::Memory::pinned; }
  std::size_t device_bytes() const { return are_on_host() ? 0 : in_chunks_; }

 private:
  const cuda::Memory memory_;
  const std::size_t first_;
  std::vector<cuda::Buffer<std::byte>> chunks_;
  std::size_t used_of_last_ = 0;            // bytes of the last chunk
  std::size_t in_chunks_ = 0, in_use_ = 0;  // bytes of all chunks, and of the slots as last counted
  std::vector<std::uint32_t> bytes_by_slot_;
};

}  // namespace culmen::gpu
