// Downloader: copies leaves from a device into host memory that is not pinned. Pieces arrive in pinned memory one
// after the other; threads copy each to its destination while the next ones are in transfer.
#pragma once

#include <cstddef>
#include <span>

#include "gpu/cuda/buffer.h"

namespace culmen::gpu {

class Downloader {
 public:
  // On the current device, in the order of the stream.
  explicit Downloader(cudaStream_t stream) : stream_(stream) {}

  // Allocates what copies of up to this size need: pinned memory takes its time. Throws OutOfDeviceMemory or CudaError.
  void reserve(std::size_t num_bytes);
  // Waits until all of `to` is written. Throws CudaError.
  void copy(const std::byte* from, std::span<std::byte> to);

 private:
  static constexpr std::size_t kNumPieces = 4;

  cudaStream_t stream_;
  cuda::Buffer<std::byte> pieces_;
  std::size_t piece_bytes_ = 0;
  cuda::Event copied_[kNumPieces];
};

}  // namespace culmen::gpu
