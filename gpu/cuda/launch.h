// Launches a kernel and checks that it was taken: no other file writes <<< >>>.
#pragma once

#include <cuda_runtime.h>

#include "gpu/cuda/error.h"

namespace culmen::cuda {

struct Shape {
  unsigned num_blocks = 1;
  unsigned num_threads = 1;
  std::size_t shared_bytes = 0;
  bool cooperative = false;             // all blocks run at once, so they may wait for each other
  const char* file = __builtin_FILE();  // of the launch, for errors
  int line = __builtin_LINE();
};

// Lets `kernel` have all the dynamic shared memory that the current device can give it, the first time that
// it is called for the two: a limit for each launch would be taken back by other threads.
void allow_shared_memory(const void* kernel, const char* file, int line);

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const Shape& shape, cudaStream_t stream,
            Arguments&&... arguments) {
  constexpr std::size_t kAlwaysAllowed = 32 << 10;  // of 48 KiB, which static shared memory is a part of
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
