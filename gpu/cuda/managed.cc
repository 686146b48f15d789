#include "gpu/cuda/managed.h"

#include <cuda_runtime_api.h>

#include "gpu/cuda/error.h"

namespace culmen::cuda {

// Not cudaMemAdviseSetReadMostly: the host does not read the pages, so it needs no copy.
void keep_on_device(const void* data, std::size_t num_bytes) {
  const int device = current_device();
  int shares_pages = 0;
  check(cudaDeviceGetAttribute(&shares_pages, cudaDevAttrConcurrentManagedAccess, device));
  if (shares_pages == 0) return;
#if CUDART_VERSION >= 13000
  const cudaMemLocation location = {cudaMemLocationTypeDevice, device};
  check(cudaMemAdvise(data, num_bytes, cudaMemAdviseSetPreferredLocation, location));
  check(cudaMemPrefetchAsync(data, num_bytes, location, 0, nullptr));
#else
  check(cudaMemAdvise(data, num_bytes, cudaMemAdviseSetPreferredLocation, device));
  check(cudaMemPrefetchAsync(data, num_bytes, device, nullptr));
#endif
}

}  // namespace culmen::cuda
