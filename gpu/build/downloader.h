// Downloader: copies leaves from a device into host memory that is not pinned. Threads share the work: each lets pieces arrive
// in pinned memory of its own, so small that the processor's cache holds it, and copies one to its destination while the
// next is in transfer.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "gpu/cuda/buffer.h"

namespace culmen::gpu {

class Downloader {
 public:
  // From this device, which is current in all calls.
  explicit Downloader(int device);
  ~Downloader();
  Downloader(const Downloader&) = delete;
  Downloader& operator=(const Downloader&) = delete;

  // What `from` has when this is called. Waits until all of `to` is written. Throws OutOfDeviceMemory or CudaError.
  void copy(const std::byte* from, std::span<std::byte> to);

 private:
  static constexpr std::size_t kMostLanes = 12;
  static constexpr std::size_t kPieceBytes = 4 << 20;

  // What one thread uses.
  class Lane;

  int device_;
  std::size_t piece_bytes_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace culmen::gpu
