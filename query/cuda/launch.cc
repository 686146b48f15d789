#include "query/cuda/launch.h"

#include <mutex>
#include <set>
#include <utility>

namespace culmen::cuda {

void allow_shared_memory(const void* kernel, const char* file, int line) {
  static std::mutex mutex;
  static std::set<std::pair<const void*, int>> allowed;
  int device = 0;
  check(cudaGetDevice(&device), file, line);
  const std::lock_guard lock(mutex);
  if (allowed.contains({kernel, device})) return;
  int most = 0;
  cudaFuncAttributes attributes{};
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), file, line);
  check(cudaFuncGetAttributes(&attributes, kernel), file, line);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             most - static_cast<int>(attributes.sharedSizeBytes)),
        file, line);
  allowed.insert({kernel, device});
}

}  // namespace culmen::cuda
