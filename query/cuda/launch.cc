#include "query/cuda/launch.h"

#include <mutex>
#include <set>
#include <utility>

namespace culmen::cuda {

void allow_shared_memory(const void* kernel, std::source_location where) {
  static std::mutex mutex;
  static std::set<std::pair<const void*, int>> allowed;
  int device = 0;
  check(cudaGetDevice(&device), where);
  const std::lock_guard lock(mutex);
  if (allowed.contains({kernel, device})) return;
  int most = 0;
  cudaFuncAttributes attributes;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), where);
  check(cudaFuncGetAttributes(&attributes, kernel), where);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             most - static_cast<int>(attributes.sharedSizeBytes)),
        where);
  allowed.insert({kernel, device});
}

}  // namespace culmen::cuda
