// Context: what is behind a DeviceContext. A stream, the caller's or its own, one piece of scratch memory,
// and the versions that work on the stream reads.
#pragma once

#include <cstddef>
#include <list>
#include <optional>

#include "culmen/device.h"
#include "gpu/cuda/buffer.h"
#include "gpu/mirror/mirror_version.h"

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
  void synchronize() const;  // and lets go of all views

  // The most that scratch() may be asked for.
  std::size_t max_scratch_bytes() const { return max_scratch_bytes_; }
  // At least `num_bytes`, aligned as cudaMalloc does and never uninitialised, which work on the stream may
  // use until the next call. Waits for the stream if there is less so far. Throws OutOfDeviceMemory.
  std::byte* scratch(std::size_t num_bytes);

  // What is enqueued while a Use lives may read its view: it is held until the stream has got there.
  class Use {
   public:
    Use(cuda::Event& end, cudaStream_t stream) : end_(end), stream_(stream) {}
    ~Use() { cudaEventRecord(end_.get(), stream_); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    cuda::Event& end_;
    cudaStream_t stream_;
  };
  // Throws OutOfDeviceMemory.
  Use use(const MirrorView& view);

 private:
  struct Held {
    MirrorView view;
    cuda::Event end;  // of what reads it
  };

  int device_;
  std::optional<cuda::Stream> own_stream_;
  cudaStream_t stream_;
  std::size_t max_scratch_bytes_;
  cuda::Buffer<std::byte> scratch_;
  mutable std::list<Held> held_;  // until it is known that they are done
};

}  // namespace culmen::gpu
