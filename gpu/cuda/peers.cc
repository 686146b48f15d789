#include "gpu/cuda/peers.h"

#include <cuda_runtime_api.h>

#include <mutex>
#include <set>
#include <utility>

#include "gpu/cuda/error.h"

namespace culmen::cuda {

// Paths stay open as long as the process.
void open_path(int device, int other) {
  if (device == other) return;
  static std::mutex mutex;
  static std::set<std::pair<int, int>> opened;
  const std::lock_guard lock(mutex);
  if (!opened.insert({device, other}).second) return;
  int has_path = 0;
  check(cudaDeviceCanAccessPeer(&has_path, device, other));
  if (has_path == 0) return;
  const DeviceScope scope(device);
  const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();  // others in the process have opened it; the next check must not take that for an error
    return;
  }
  check(status);
}

}  // namespace culmen::cuda
