// Floating-point modes that a host program may have set.
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace culmen::test {

// Sets another rounding mode for its own lifetime, and flush-to-zero where the processor has it, as -ffast-math
// libraries do.
class HostileFloatingPoint {
 public:
  HostileFloatingPoint() {
    std::fegetenv(&saved_);
    std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
#endif
  }
  ~HostileFloatingPoint() {
    std::fesetenv(&saved_);
  }
  HostileFloatingPoint(const HostileFloatingPoint&) = delete;
  HostileFloatingPoint& operator=(const HostileFloatingPoint&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace culmen::test
