#include "query/cuda/error.h"

#include <string>

#include "culmen/error.h"

namespace culmen::cuda {

void check(cudaError_t status, const char* file, int line) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or the next call would report it again
  const std::string text = std::string("CUDA: ") + cudaGetErrorString(status) + " (" +
                           cudaGetErrorName(status) + ", " + file + ":" + std::to_string(line) + ")";
  if (status == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(text);
  throw CudaError(text);
}

}  // namespace culmen::cuda
