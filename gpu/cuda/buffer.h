// Owners of device, managed and pinned host memory. Move-only, uninitialised, of trivially copyable values.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "gpu/cuda/allocation.h"
#include "gpu/cuda/error.h"

namespace culmen::cuda {

template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size, Memory memory = Memory::device)
      : memory_(size * sizeof(T), memory), size_(size) {}
  Buffer(Buffer&& other) noexcept : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    std::swap(size_, other.size_);
    return *this;
  }

  // A device pointer; pinned memory has the same address on the host.
  T* data() const { return static_cast<T*>(memory_.data()); }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }

 private:
  Allocation memory_;
  std::size_t size_ = 0;
};

// Makes room for `size` values. Old values are lost if the buffer grows. One that has grown gets some more, up to `most`:
// sizes that vary from call to call, such as a device's share of a batch, would need new memory again and again, which
// takes milliseconds.
template <typename T>
void grow(Buffer<T>& buffer, std::size_t size, Memory memory,
          std::size_t most = std::numeric_limits<std::size_t>::max()) {
  if (buffer.size() >= size) return;
  const std::size_t roomy = buffer.size() == 0 ? size : std::max(size, std::min(size + size / 8, most));
  buffer = {};  // freed before the new one is allocated
  buffer = Buffer<T>(roomy, memory);
}

class Stream {
 public:
  // Throws OutOfDeviceMemory or CudaError.
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void synchronize() const { check(cudaStreamSynchronize(stream_)); }
  // The same for waits of milliseconds, beside which other devices are at work: lets other threads have the core between
  // looks. The runtime's own wait does not, and a thread that the kernel has put on this core begins milliseconds late.
  void synchronize_politely() const;

 private:
  cudaStream_t stream_ = nullptr;
};

// Waits for a stream at the end of its own lifetime, also during an exception. Declare it after what the stream works
// on.
class WaitAtEnd {
 public:
  explicit WaitAtEnd(const Stream& stream) : stream_(stream.get()) {}
  ~WaitAtEnd() { cudaStreamSynchronize(stream_); }
  WaitAtEnd(const WaitAtEnd&) = delete;
  WaitAtEnd& operator=(const WaitAtEnd&) = delete;

 private:
  cudaStream_t stream_;
};

// A point in a stream's work.
class Event {
 public:
  // Throws OutOfDeviceMemory or CudaError.
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream)); }
  void synchronize() const {
    check(cudaEventSynchronize(event_));
  }                                   // returns at once if it was never recorded
  void synchronize_politely() const;  // as Stream's
  // Returns true if the stream has passed it; false also on an error.
  bool has_passed() const noexcept;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace culmen::cuda
