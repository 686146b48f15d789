// What a device has of what launches are cut to. No other file asks for it, so that tests can have less.
#pragma once

#include <cstddef>

namespace culmen::cuda {

struct Limits {
  unsigned num_multiprocessors = 0;
  // Shared memory, static and dynamic together, that a thread block may ask for, and that all those on a
  // multiprocessor have between them. There each of them takes reserved_shared_bytes more.
  std::size_t block_shared_bytes = 0;
  std::size_t multiprocessor_shared_bytes = 0;
  std::size_t reserved_shared_bytes = 0;
};

// Throws CudaError.
Limits limits_of(int device);
unsigned num_multiprocessors_of(int device);
std::size_t block_shared_bytes_of(int device);

// For tests: while it lives no device has more than that; 0: as it is. The one made last counts, and goes first.
// No search meanwhile of an index that was copied to the device before.
class LimitCap {
 public:
  struct Most {
    unsigned num_multiprocessors = 0;
    std::size_t block_shared_bytes = 0;  // and as much a multiprocessor
  };
  explicit LimitCap(const Most& most);
  ~LimitCap();
  LimitCap(const LimitCap&) = delete;
  LimitCap& operator=(const LimitCap&) = delete;

 private:
  std::size_t multiprocessors_before_, shared_bytes_before_;
};

}  // namespace culmen::cuda
