#include "query/cuda/buffer.h"

namespace culmen::cuda {

void* allocate(std::size_t num_bytes, Memory memory) {
  void* data = nullptr;
  switch (memory) {
    case Memory::device:
      check(cudaMalloc(&data, num_bytes));
      break;
    case Memory::managed:
      check(cudaMallocManaged(&data, num_bytes));
      break;
    case Memory::pinned:
      check(cudaHostAlloc(&data, num_bytes, cudaHostAllocMapped | cudaHostAllocPortable));
      break;
  }
  return data;
}

void release(void* data, Memory memory) noexcept {
  if (memory == Memory::pinned) {
    cudaFreeHost(data);
  } else {
    cudaFree(data);
  }
}

}  // namespace culmen::cuda
