// Owners of device, managed and pinned host memory. Move-only, uninitialised, of trivially copyable values.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "gpu/cuda/error.h"

namespace culmen::cuda {

enum class Memory {
  device,   // on the card
  managed,  // moves between host and card by page
  pinned,   // on the host, read by the card over the bus
};

// Throws OutOfDeviceMemory or CudaError.
void* allocate(std::size_t num_bytes, Memory memory);
void release(void* data, Memory memory) noexcept;

// The message says what would help.
[[noreturn]] void throw_no_room(std::size_t num_bytes, Memory memory);

// Buffers' allocations, streams and events that are not released yet, of all threads; for tests.
int num_allocations() noexcept;
// For who allocates by other means than these: 1 or -1.
void count_allocation(int change) noexcept;

template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size, Memory memory = Memory::device) : size_(size), memory_(memory) {
    if (size > 0) data_ = static_cast<T*>(allocate(size * sizeof(T), memory));
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        memory_(other.memory_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (data_ != nullptr) release(data_, memory_);
  }

  // A device pointer; pinned memory has the same address on the host.
  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  Memory memory_ = Memory::device;
};

// Makes room for `size` values, which are lost if there was less.
template <typename T>
void grow(Buffer<T>& buffer, std::size_t size, Memory memory) {
  if (buffer.size() >= size) return;
  buffer = {};  // before the new one is asked for
  buffer = Buffer<T>(size, memory);
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

 private:
  cudaStream_t stream_ = nullptr;
};

// Waits for a stream at the end of its own lifetime, also when something throws: what the stream works on
// goes behind it.
class WaitAtEnd {
 public:
  explicit WaitAtEnd(const Stream& stream) : stream_(stream.get()) {}
  ~WaitAtEnd() { cudaStreamSynchronize(stream_); }
  WaitAtEnd(const WaitAtEnd&) = delete;
  WaitAtEnd& operator=(const WaitAtEnd&) = delete;

 private:
  cudaStream_t stream_;
};

// A place in a stream's work.
class Event {
 public:
  // Throws OutOfDeviceMemory or CudaError.
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream)); }
  void synchronize() const { check(cudaEventSynchronize(event_)); }  // at once if it was never recorded
  // Whether the stream got there; false also if that cannot be told.
  bool has_passed() const noexcept;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace culmen::cuda
