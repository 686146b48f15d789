#include "query/cuda/error.h"

#include <string>
#include <string_view>

#include "culmen/error.h"

namespace culmen::cuda {

void check(cudaError_t status, const char* file, int line) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or the next call would report it again
  // Without the folders, which are those of the machine that compiled it.
  const std::string_view path = file;
  const std::string name(path.substr(path.rfind('/') + 1));
  const std::string text = std::string("CUDA: ") + cudaGetErrorString(status) + " (" +
                           cudaGetErrorName(status) + ", " + name + ":" + std::to_string(line) + ")";
  if (status == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(text);
  throw CudaError(text);
}

}  // namespace culmen::cuda
