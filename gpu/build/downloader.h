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

// Bytes on a device, and their destination.
struct Download {
  const std::byte* from;
  std::span<std::byte> to;
};

class Downloader {
 public:
  // From this device, which is current in all calls.
  explicit Downloader(int device);
  ~Downloader();
  Downloader(const Downloader&) = delete;
  Downloader& operator=(const Downloader&) = delete;

  // What the device has when this is called. Waits until all is written. Throws OutOfDeviceMemory or CudaError.
  void copy(std::span<const Download> downloads);

 private:
  static constexpr std::size_t kMostLanes = 15;
  static constexpr std::size_t kPieceBytes = 1 << 20;

  // What one thread uses.
  class Lane;

  void open_lanes(std::size_t count);

  int device_;
  cuda::Buffer<std::byte> pinned_;  // at once: pinning memory takes milliseconds, however little it is
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace culmen::gpu
