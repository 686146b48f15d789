// Launches a kernel and checks the status. No other file writes <<< >>>.
#pragma once

#include <cuda_runtime.h>

#include "gpu/cuda/error.h"

namespace culmen::cuda {

struct Shape {
  unsigned num_blocks = 1;
  unsigned num_threads = 1;
  std::size_t shared_bytes = 0;
  bool cooperative = false;             // all blocks are resident, so they may wait for each other
  const char* file = __builtin_FILE();  // of the launch, for errors
  int line = __builtin_LINE();
};

// Allows `kernel` all dynamic shared memory of the current device, at the first call for both. With a limit for each
// launch, threads would lower each other's.
void allow_shared_memory(const void* kernel, const char* file, int line);

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const Shape& shape, cudaStream_t stream,
            Arguments&&... arguments) {
  constexpr std::size_t kAlwaysAllowed = 32 << 10;  // of 48 KiB, which include static shared memory
  if (shape.shared_bytes > kAlwaysAllowed)
    allow_shared_memory(reinterpret_cast<const void*>(kernel), shape.file, shape.line);
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
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), shape.file, shape.line);
}

}  // namespace culmen::cuda
