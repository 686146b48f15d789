// GrowingBuffer: memory for kernels that grows without moving, while kernels read it.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu/cuda/allocation.h"

namespace culmen::cuda {

// Device memory: reserves a range of addresses on the current device, and maps pages of 2 MiB to its first part.
// Other kinds of memory, a DeviceAllocator's, and devices without virtual memory management: one allocation that
// cannot grow.
class GrowingBuffer {
 public:
  GrowingBuffer() = default;
  // Returns true if memory of this kind, allocated now, can grow.
  static bool can_grow(Memory memory);
  // Memory for `num_bytes`, and addresses for `capacity` bytes. Throws OutOfDeviceMemory or CudaError.
  GrowingBuffer(std::size_t num_bytes, std::size_t capacity, Memory memory);
  GrowingBuffer(GrowingBuffer&& other) noexcept;
  GrowingBuffer& operator=(GrowingBuffer&& other) noexcept;
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;
  ~GrowingBuffer();  // waits for the device before it unmaps pages

  // A device pointer; pinned memory has the same address on the host.
  std::byte* data() const { return data_; }
  // Bytes that can be used.
  std::size_t size() const { return size_; }

  // Grows to at least `num_bytes`, on the current device. Returns false, and changes nothing, if it would have to
  // move. Throws as the constructor.
  bool grow(std::size_t num_bytes);

 private:
  void reserve(std::size_t capacity);
  void append(std::size_t num_bytes);
  void give_back_pages() noexcept;

  Allocation piece_;  // if it cannot grow
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;  // 0: it cannot grow
  int device_ = 0;
  std::vector<std::size_t> pieces_;  // bytes of each mapping
};

}  // namespace culmen::cuda
