// AllocationFault: makes an allocation fail, for tests.
#pragma once

#include <atomic>

namespace culmen::cuda {

// During its life the nth allocation of the process, by a Buffer or a Stream, fails; the next one is the 1st. One at
// a time.
class AllocationFault {
 public:
  explicit AllocationFault(int nth) { left_ = nth; }
  ~AllocationFault() { left_ = 0; }
  AllocationFault(const AllocationFault&) = delete;
  AllocationFault& operator=(const AllocationFault&) = delete;

  // Called by every allocation; returns true if it must fail.
  static bool strikes() noexcept { return left_ > 0 && --left_ == 0; }

 private:
  static inline std::atomic<int> left_ = 0;
};

}  // namespace culmen::cuda
