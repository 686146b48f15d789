// The properties of a device that launches depend on. No other file queries them, so tests can lower them.
#pragma once

#include <cstddef>

namespace culmen::cuda {

struct Limits {
  unsigned num_multiprocessors = 0;
  // Shared memory, static and dynamic together, of a thread block and of a multiprocessor. Each resident block takes
  // reserved_shared_bytes more.
  std::size_t block_shared_bytes = 0;
  std::size_t multiprocessor_shared_bytes = 0;
  std::size_t reserved_shared_bytes = 0;
};

// Throws CudaError.
Limits limits_of(int device);
unsigned num_multiprocessors_of(int device);
std::size_t block_shared_bytes_of(int device);

// For tests: during its life no device has more than this; 0: as it is. If there are several, the latest counts, and
// is destroyed first. No search of an index that was copied to the device before.
class LimitCap {
 public:
  struct Most {
    unsigned num_multiprocessors = 0;
    std::size_t block_shared_bytes = 0;  // also of a multiprocessor
  };
  explicit LimitCap(const Most& most);
  ~LimitCap();
  LimitCap(const LimitCap&) = delete;
  LimitCap& operator=(const LimitCap&) = delete;

 private:
  std::size_t multiprocessors_before_, shared_bytes_before_;
};

}  // namespace culmen::cuda
