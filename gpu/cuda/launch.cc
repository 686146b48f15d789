#include "gpu/cuda/launch.h"

#include <map>
#include <mutex>
#include <utility>

#include "gpu/cuda/limits.h"

namespace culmen::cuda {

void allow_shared_memory(const void* kernel, const char* file, int line) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, std::size_t>
      allowed;  // bytes that each kernel may have, by device
  int device = 0;
  check(cudaGetDevice(&device), file, line);
  const std::size_t most = block_shared_bytes_of(device);
  const std::lock_guard lock(mutex);
  std::size_t& so_far = allowed[{kernel, device}];
  if (so_far == most) return;
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), file, line);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(most) - static_cast<int>(attributes.sharedSizeBytes)),
        file, line);
  so_far = most;
}

}  // namespace culmen::cuda
