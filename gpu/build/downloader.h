// Downloader: the way of leaves from a device into host memory that is not pinned. Pieces come into pinned
// memory one after the other; threads copy each to its place while the next are on their way.
#pragma once

#include <cstddef>
#include <span>

#include "gpu/cuda/buffer.h"

namespace culmen::gpu {

class Downloader {
 public:
  // On the current device; copies follow what is on the stream. Throws OutOfDeviceMemory or CudaError.
  explicit Downloader(cudaStream_t stream);

  // All of `to` is there on return. Throws CudaError.
  void copy(const std::byte* from, std::span<std::byte> to);

 private:
  static constexpr std::size_t kNumPieces = 4;

  cudaStream_t stream_;
  cuda::Buffer<std::byte> pieces_;
  cuda::Event copied_[kNumPieces];
};

}  // namespace culmen::gpu
