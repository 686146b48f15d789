// GrowingBuffer: bytes for kernels that become more without moving, so that who reads them never notices.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu/cuda/allocation.h"

namespace culmen::cuda {

// Device memory is a range of addresses on the current device, of which the first part is memory; it is taken
// in pages of 2 MiB. Other kinds of memory, a DeviceAllocator's, and devices that cannot do this have one piece
// for good.
class GrowingBuffer {
 public:
  GrowingBuffer() = default;
  // Whether memory of this kind that is asked for now can become more.
  static bool can_grow(Memory memory);
  // Memory for `num_bytes`, and addresses for `capacity` bytes. Throws OutOfDeviceMemory or CudaError.
  GrowingBuffer(std::size_t num_bytes, std::size_t capacity, Memory memory);
  GrowingBuffer(GrowingBuffer&& other) noexcept;
  GrowingBuffer& operator=(GrowingBuffer&& other) noexcept;
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;
  ~GrowingBuffer();  // waits for the device where it gives pages back

  // A device pointer; pinned memory has the same address on the host.
  std::byte* data() const { return data_; }
  // Bytes that are memory.
  std::size_t size() const { return size_; }

  // Makes the first `num_bytes` memory, on the current device, and a little more. False if it would have to
  // move: then nothing has changed. Throws as the constructor.
  bool grow(std::size_t num_bytes);

 private:
  void reserve(std::size_t capacity);
  void append(std::size_t num_bytes);
  void give_back_pages() noexcept;

  Allocation piece_;  // if it is for good
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;  // 0: one piece for good
  int device_ = 0;
  std::vector<std::size_t> pieces_;  // bytes of each that was appended
};

}  // namespace culmen::cuda
