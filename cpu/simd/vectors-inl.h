// The vector of up to 8 doubles that all kernels of scores and bounds share, its loads and its fma.
//
// Compiled once per target (instruction set). The include guard toggles, so that each pass of hwy/foreach_target.h
// includes the file once (see Highway's documentation).
#if defined(CULMEN_CPU_SIMD_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CULMEN_CPU_SIMD_VECTORS_INL_H_
#undef CULMEN_CPU_SIMD_VECTORS_INL_H_
#else
#define CULMEN_CPU_SIMD_VECTORS_INL_H_
#endif

#include <cmath>
#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;

// a * b + c, rounded once, as the contract demands. Targets without an fma instruction call std::fma for each lane.
HWY_INLINE V Fma(V a, V b, V c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#else
  const D d;
  HWY_ALIGN double x[8], y[8], z[8];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, z);
#endif
}

HWY_INLINE V LoadAsDouble(const double* from) {
  return hn::LoadU(D(), from);
}
HWY_INLINE V LoadAsDouble(const float* from) {
  const D d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}

}  // namespace culmen::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
