#include "query/cuda/error.h"

#include <string>

#include "culmen/error.h"

namespace culmen::cuda {

void check(cudaError_t status, std::source_location where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or the next call would report it again
  const std::string text = std::string("CUDA: ") + cudaGetErrorString(status) + " (" +
                           cudaGetErrorName(status) + ", " + where.file_name() + ":" +
                           std::to_string(where.line()) + ")";
  if (status == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(text);
  throw CudaError(text);
}

}  // namespace culmen::cuda
