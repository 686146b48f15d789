// DeviceAllocator: lets a program that shares a GPU with others, PyTorch or RAPIDS say, decide where culmen's
// device memory comes from.
//
//   class Pool : public culmen::DeviceAllocator { ... };
//   culmen::set_device_allocator(std::make_shared<Pool>());
//
// Managed and pinned host memory (DeviceMemory::managed and host, and small buffers for copies) stay CUDA's.
#pragma once

#include <cstddef>
#include <memory>

namespace culmen {

// All calls may come from several threads at once, on the device that is current in CUDA then.
class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;

  // Memory of the current device, aligned to 256 bytes, which any stream may use at once: an allocator whose
  // memory is ready only in the order of one stream waits for that stream first. Where there is not enough,
  // null or std::bad_alloc, which culmen turns into OutOfDeviceMemory. `num_bytes` is never 0.
  [[nodiscard]] virtual void* allocate(std::size_t num_bytes) = 0;

  // Takes back what allocate() has given, with the same size and the same current device. Nothing uses it
  // any more: culmen has waited for the device, as cudaFree does.
  virtual void deallocate(void* data, std::size_t num_bytes) noexcept = 0;

  // What allocate() could still give on the current device; an estimate will do. Culmen leaves a tenth of it
  // free when it chooses where rows go (DeviceMemory::automatic) and how much of a table is loaded at a time.
  [[nodiscard]] virtual std::size_t free_bytes() = 0;
};

// Where device memory comes from that culmen asks for from now on, in the whole process; null: CUDA itself.
// Memory that culmen has goes back to where it came from, and keeps that allocator alive. Returns the allocator
// before.
//
// An index's arrays that CUDA lets grow in place (inserts into an index on a GPU) cannot do so in an allocator's
// memory: they have a little room, and are copied whole again when they have outgrown it.
std::shared_ptr<DeviceAllocator> set_device_allocator(std::shared_ptr<DeviceAllocator> allocator);

}  // namespace culmen
