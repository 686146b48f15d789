#include "gpu/cuda/allocation.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <new>
#include <string>

#include "culmen/error.h"
#include "gpu/cuda/allocation_fault.h"
#include "gpu/cuda/device_allocator.h"
#include "gpu/cuda/error.h"

namespace culmen::cuda {
namespace {

std::atomic<int> live = 0;

cudaError_t try_allocate(void** data, std::size_t num_bytes, Memory memory) {
  switch (memory) {
    case Memory::device:
      return cudaMalloc(data, num_bytes);
    case Memory::managed:
      return cudaMallocManaged(data, num_bytes);
    case Memory::pinned:
      break;
  }
  return cudaHostAlloc(data, num_bytes, cudaHostAllocMapped | cudaHostAllocPortable);
}

bool is_pinned_at(const std::byte* data) {
  cudaPointerAttributes attributes = {};
  if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) {
    cudaGetLastError();  // clears the error, which the next call would report
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

// Returns null if there is no room.
void* allocate_from(DeviceAllocator& allocator, std::size_t num_bytes) {
  try {
    return allocator.allocate(num_bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* allocate_from_cuda(std::size_t num_bytes, Memory memory) {
  void* data = nullptr;
  const cudaError_t status = try_allocate(&data, num_bytes, memory);
  if (status == cudaErrorMemoryAllocation) return nullptr;
  check(status);
  return data;
}

}  // namespace

Allocation::Allocation(std::size_t num_bytes, Memory memory) : num_bytes_(num_bytes), memory_(memory) {
  if (num_bytes == 0) return;
  if (AllocationFault::strikes()) throw_no_room(num_bytes, memory);
  if (memory == Memory::device) allocator_ = device_allocator();
  if (allocator_ != nullptr) {
    device_ = current_device();
    data_ = allocate_from(*allocator_, num_bytes);
  } else {
    data_ = allocate_from_cuda(num_bytes, memory);
  }
  if (data_ == nullptr) throw_no_room(num_bytes, memory);
  ++live;
}

void Allocation::release() noexcept {
  if (allocator_ != nullptr) {
    int previous = device_;
    cudaGetDevice(&previous);
    if (previous != device_) cudaSetDevice(device_);
    cudaDeviceSynchronize();  // as cudaFree does: kernels may still read the memory
    allocator_->deallocate(data_, num_bytes_);
    if (previous != device_) cudaSetDevice(previous);
  } else if (memory_ == Memory::pinned) {
    cudaFreeHost(data_);
  } else {
    cudaFree(data_);
  }
  --live;
}

bool is_pinned(const void* data, std::size_t num_bytes) {
  const auto* first = static_cast<const std::byte*>(data);
  return num_bytes > 0 && is_pinned_at(first) && is_pinned_at(first + num_bytes - 1);
}

std::size_t free_device_bytes() {
  if (const auto allocator = device_allocator()) return allocator->free_bytes();
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  return free;
}

void throw_no_room(std::size_t num_bytes, Memory memory) {
  cudaGetLastError();  // clears the error, which the next call would report
  throw OutOfDeviceMemory(
      "no room for " + std::to_string(num_bytes) + " bytes of " +
      (memory == Memory::pinned ? "pinned host memory" : "device memory") +
      ": ask for fewer rows or fewer queries at once, " +
      (memory == Memory::pinned ? "" : "keep the table's rows in host memory (DeviceMemory::host) ") +
      "or search on the CPU");
}

int num_allocations() noexcept {
  return live;
}

void count_allocation(int change) noexcept {
  live += change;
}

}  // namespace culmen::cuda
