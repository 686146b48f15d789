// AllocationFault: for tests of what happens when memory runs out.
#pragma once

#include <atomic>

namespace culmen::cuda {

// While it lives, the nth allocation of the process from now on, a Buffer's or a Stream's, finds no room; the
// next is the 1st. One at a time.
class AllocationFault {
 public:
  explicit AllocationFault(int nth) { left_ = nth; }
  ~AllocationFault() { left_ = 0; }
  AllocationFault(const AllocationFault&) = delete;
  AllocationFault& operator=(const AllocationFault&) = delete;

  // Whether the allocation that asks is the one.
  static bool strikes() noexcept { return left_ > 0 && --left_ == 0; }

 private:
  static inline std::atomic<int> left_ = 0;
};

}  // namespace culmen::cuda
