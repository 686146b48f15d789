#include "gpu/cuda/buffer.h"

#include <atomic>
#include <string>

#include "culmen/error.h"
#include "gpu/cuda/allocation_fault.h"

namespace culmen::cuda {
namespace {

std::atomic<int> live = 0;

cudaError_t try_allocate(void** data, std::size_t num_bytes, Memory memory) {
  if (AllocationFault::strikes()) return cudaErrorMemoryAllocation;
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

cudaError_t try_create(cudaStream_t* stream) {
  if (AllocationFault::strikes()) return cudaErrorMemoryAllocation;
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}

cudaError_t try_create(cudaEvent_t* event) {
  if (AllocationFault::strikes()) return cudaErrorMemoryAllocation;
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}

}  // namespace

void throw_no_room(std::size_t num_bytes, Memory memory) {
  cudaGetLastError();  // or the next call would report it again
  throw OutOfDeviceMemory(
      "no room for " + std::to_string(num_bytes) + " bytes of " +
      (memory == Memory::pinned ? "pinned host memory" : "device memory") +
      ": ask for fewer rows or fewer queries at once, " +
      (memory == Memory::pinned ? "" : "keep the table's rows in host memory (DeviceMemory::host) ") +
      "or search on the CPU");
}

void* allocate(std::size_t num_bytes, Memory memory) {
  void* data = nullptr;
  const cudaError_t status = try_allocate(&data, num_bytes, memory);
  if (status == cudaErrorMemoryAllocation) throw_no_room(num_bytes, memory);
  check(status);
  ++live;
  return data;
}

void release(void* data, Memory memory) noexcept {
  if (memory == Memory::pinned) {
    cudaFreeHost(data);
  } else {
    cudaFree(data);
  }
  --live;
}

int num_allocations() noexcept {
  return live;
}

void count_allocation(int change) noexcept {
  live += change;
}

Stream::Stream() {
  check(try_create(&stream_));
  ++live;
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
  --live;
}

Event::Event() {
  check(try_create(&event_));
  ++live;
}

Event::~Event() {
  cudaEventDestroy(event_);
  --live;
}

bool Event::has_passed() const noexcept {
  const cudaError_t status = cudaEventQuery(event_);
  if (status != cudaSuccess) cudaGetLastError();  // or the next call would report it again
  return status == cudaSuccess;
}

}  // namespace culmen::cuda
