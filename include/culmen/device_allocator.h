// DeviceAllocator: the source of culmen's device memory, for programs that share a GPU with PyTorch, RAPIDS or others.
//
//   class Pool : public culmen::DeviceAllocator { ... };
//   culmen::set_device_allocator(std::make_shared<Pool>());
//
// Managed and pinned host memory (DeviceMemory::managed and host, and small buffers for copies) always comes from CUDA.
#pragma once

#include <cstddef>
#include <memory>

namespace culmen {

// Several threads may call it at once, each with its own current CUDA device.
class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;

  // Returns memory of the current device, aligned to 256 bytes, which any stream may use at once: a stream-ordered
  // allocator waits for its stream first. If there is not enough memory it returns null or throws std::bad_alloc, which
  // culmen turns into OutOfDeviceMemory. `num_bytes` is never 0.
  [[nodiscard]] virtual void* allocate(std::size_t num_bytes) = 0;

  // Frees memory from allocate(), with the same size and the same current device. Nothing uses it any more: culmen has
  // waited for the device, as cudaFree does.
  virtual void deallocate(void* data, std::size_t num_bytes) noexcept = 0;

  // Returns what allocate() could still provide on the current device; an estimate will do. Culmen leaves a tenth of it
  // free when it chooses where rows go (DeviceMemory::automatic) and how much of a table it loads at a time.
  [[nodiscard]] virtual std::size_t free_bytes() = 0;
};

// Sets the source of all device memory that culmen allocates from now on, in the whole process; null: CUDA. Memory that
// culmen already has is freed by the allocator that it came from, which stays alive until then. Returns the previous
// allocator.
//
// With CUDA the arrays of an index grow in place under inserts. An allocator's memory cannot: the arrays have a little
// spare capacity, and are copied again once they outgrow it.
std::shared_ptr<DeviceAllocator> set_device_allocator(std::shared_ptr<DeviceAllocator> allocator);

}  // namespace culmen
