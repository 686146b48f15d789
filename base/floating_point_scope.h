// FloatingPointScope: sets the floating-point mode that the contract requires (IEEE 754 defaults), and restores the
// caller's mode at the end of the scope.
//
// The host program, or a library built with -ffast-math that it loads, may have set another rounding mode or
// flush-to-zero. Then scores would differ, and bounds could fall below them. Every public call that computes opens a
// scope, and so does every parallel task, because the mode belongs to a thread.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace culmen {

#if defined(__x86_64__)
class FloatingPointScope {
 public:
  FloatingPointScope() : saved_(_mm_getcsr()) {
    if (saved_ != kDefault) _mm_setcsr(kDefault);
  }
  ~FloatingPointScope() {
    if (saved_ != kDefault) _mm_setcsr(saved_);
  }
  FloatingPointScope(const FloatingPointScope&) = delete;
  FloatingPointScope& operator=(const FloatingPointScope&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1f80;  // round to nearest, all exceptions masked, no flush-to-zero
  unsigned saved_;
};
#else
class FloatingPointScope {
 public:
  FloatingPointScope() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatingPointScope() { std::fesetenv(&saved_); }
  FloatingPointScope(const FloatingPointScope&) = delete;
  FloatingPointScope& operator=(const FloatingPointScope&) = delete;

 private:
  std::fenv_t saved_;
};
#endif

}  // namespace culmen
