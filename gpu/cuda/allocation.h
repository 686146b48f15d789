// Allocation: an owner of device, managed or pinned host memory.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "culmen/device_allocator.h"

namespace culmen::cuda {

enum class Memory {
  device,   // on the card
  managed,  // moves between host and card by page
  pinned,   // on the host, read by the card over the bus
};

class Allocation {
 public:
  Allocation() = default;
  // On the current device, uninitialised; none if num_bytes is 0. Throws OutOfDeviceMemory or CudaError.
  Allocation(std::size_t num_bytes, Memory memory);
  Allocation(Allocation&& other) noexcept { swap(other); }
  Allocation& operator=(Allocation&& other) noexcept {
    swap(other);
    return *this;
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() {
    if (data_ != nullptr) release();
  }

  // A device pointer; pinned memory has the same address on the host.
  void* data() const { return data_; }

 private:
  void swap(Allocation& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(num_bytes_, other.num_bytes_);
    std::swap(memory_, other.memory_);
    std::swap(device_, other.device_);
    std::swap(allocator_, other.allocator_);
  }
  void release() noexcept;

  void* data_ = nullptr;
  std::size_t num_bytes_ = 0;
  Memory memory_ = Memory::device;
  int device_ = 0;                              // of the allocator
  std::shared_ptr<DeviceAllocator> allocator_;  // null: CUDA itself
};

// Whether host memory is pinned, by whomever, so that devices read and write it without a copy by the host. Looks at its
// ends.
bool is_pinned(const void* data, std::size_t num_bytes);

// Device memory that Allocations could take now on the current device. Throws CudaError.
std::size_t free_device_bytes();

// Throws with advice in the message.
[[noreturn]] void throw_no_room(std::size_t num_bytes, Memory memory);

// Allocations, streams and events of all threads that are not released yet; for tests.
int num_allocations() noexcept;
// Counts what is allocated by other means: 1 or -1.
void count_allocation(int change) noexcept;

}  // namespace culmen::cuda
