// Arrays of tests in device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "gpu/cuda/buffer.h"

namespace culmen::test {

template <typename T>
cuda::Buffer<T> to_device(const std::vector<T>& values) {
  cuda::Buffer<T> buffer(values.size(), cuda::Memory::device);
  if (!values.empty())
    cuda::check(cudaMemcpy(buffer.data(), values.data(), buffer.size_bytes(), cudaMemcpyDefault));
  cuda::check(cudaDeviceSynchronize());  // streams of tests do not wait for the copy
  return buffer;
}

}  // namespace culmen::test
