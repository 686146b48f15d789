// Launches a kernel and checks that it was taken: no other file writes <<< >>>.
#pragma once

#include <cuda_runtime.h>

#include <source_location>

#include "query/cuda/error.h"

namespace culmen::cuda {

struct Shape {
  unsigned num_blocks = 1;
  unsigned num_threads = 1;
  std::size_t shared_bytes = 0;
  bool cooperative = false;  // all blocks run at once, so they may wait for each other
  std::source_location where = std::source_location::current();
};

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const Shape& shape, cudaStream_t stream,
            Arguments&&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.num_blocks;
  config.blockDim = shape.num_threads;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  config.attrs = &attribute;
  config.numAttrs = shape.cooperative ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), shape.where);
}

// Lets a kernel have more dynamic shared memory than the 48 KiB that every kernel may.
template <typename... Parameters>
void allow_shared_bytes(void (*kernel)(Parameters...), std::size_t num_bytes,
                        std::source_location where = std::source_location::current()) {
  check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(num_bytes)),
      where);
}

}  // namespace culmen::cuda
