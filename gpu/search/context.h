// Context: the implementation of DeviceContext. It has a stream, the caller's or its own, scratch memory, and the
// versions that work on the stream reads.
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
  void synchronize() const;  // also releases all views

  // The limit of scratch().
  std::size_t max_scratch_bytes() const { return max_scratch_bytes_; }
  // At least `num_bytes`, initialised and aligned as by cudaMalloc, for work on the stream until the next call. Waits
  // for the stream if it must grow. Throws OutOfDeviceMemory.
  std::byte* scratch(std::size_t num_bytes);

  // What is enqueued during the life of a Use may read its view, which is held until the stream has passed it.
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
  mutable std::list<Held> held_;  // until their end is known to have passed
};

}  // namespace culmen::gpu
