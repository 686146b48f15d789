// Context: what is behind a DeviceContext. A stream, the caller's or its own, and one piece of scratch
// memory.
#pragma once

#include <cstddef>
#include <optional>

#include "culmen/device.h"
#include "query/cuda/buffer.h"

namespace culmen::gpu {

class Context {
 public:
  // `device` is current.
  Context(int device, const ContextOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int device() const { return device_; }
  cudaStream_t stream() const { return stream_; }
  void synchronize() const;

  // The most that scratch() may be asked for.
  std::size_t max_scratch_bytes() const { return max_scratch_bytes_; }
  // At least `num_bytes`, aligned as cudaMalloc does and never uninitialised, which work on the stream may
  // use until the next call. Waits for the stream if there is less so far. Throws OutOfDeviceMemory.
  std::byte* scratch(std::size_t num_bytes);

 private:
  int device_;
  std::optional<cuda::Stream> own_stream_;
  cudaStream_t stream_;
  std::size_t max_scratch_bytes_;
  cuda::Buffer<std::byte> scratch_;
};

}  // namespace culmen::gpu
