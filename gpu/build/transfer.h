// Copies of small arrays to a device and back, in a stream's order.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/cuda/buffer.h"

namespace culmen::gpu {

// Enqueues a copy. `values`, which are not pinned, may be freed on return. Throws OutOfDeviceMemory or CudaError.
template <typename T>
cuda::Buffer<T> send(std::span<const T> values, cudaStream_t stream) {
  cuda::Buffer<T> buffer(values.size());
  if (!values.empty())
    cuda::check(
        cudaMemcpyAsync(buffer.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream));
  return buffer;
}

template <typename T>
cuda::Buffer<T> send(const std::vector<T>& values, cudaStream_t stream) {
  return send(std::span<const T>(values), stream);
}

// Waits for the stream.
template <typename T>
std::vector<T> fetch(const T* from, std::size_t size, cudaStream_t stream) {
  std::vector<T> values(size);
  if (size > 0)
    cuda::check(cudaMemcpyAsync(values.data(), from, size * sizeof(T), cudaMemcpyDeviceToHost, stream));
  cuda::check(cudaStreamSynchronize(stream));
  return values;
}

template <typename T>
std::vector<T> fetch(const cuda::Buffer<T>& from, cudaStream_t stream) {
  return fetch(from.data(), from.size(), stream);
}

}  // namespace culmen::gpu
