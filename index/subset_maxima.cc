#include "index/subset_maxima.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "index/subset_maxima.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The 8 subset sums of the first 3 attributes, by plain code; the vectors take over from there.
HWY_INLINE void first_sums(const double* values, std::size_t stride, int num_attributes, double* sums) {
  sums[0] = 0;
  for (int i = 0; i < num_attributes && i < 3; ++i) {
    const double value = values[static_cast<std::size_t>(i) * stride];
    const int half = 1 << i;
    for (int s = 0; s < half; ++s) sums[half + s] = sums[s] + value;
  }
}

void SubsetMaxima(const double* values, std::size_t stride, int num_rows, int num_attributes,
                  double* maxima) {
  const hn::CappedTag<double, 8> d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN double sums[256];
  const std::size_t num_sums = std::size_t{1} << num_attributes;
  for (std::size_t s = 0; s < num_sums; ++s) maxima[s] = -HUGE_VAL;
  for (int r = 0; r < num_rows; ++r) {
    first_sums(values + r, stride, num_attributes, sums);
    // sums[half + s] = sums[s] + a_i doubles the table with each further attribute.
    for (int i = 3; i < num_attributes; ++i) {
      const auto value =
          hn::Set(d, values[static_cast<std::size_t>(i) * stride + static_cast<std::size_t>(r)]);
      const std::size_t half = std::size_t{1} << i;
      for (std::size_t s = 0; s < half; s += lanes)
        hn::Store(hn::Add(hn::Load(d, sums + s), value), d, sums + half + s);
    }
    if (num_sums < 8) {
      for (std::size_t s = 1; s < num_sums; ++s) maxima[s] = HWY_MAX(maxima[s], sums[s]);
    } else {
      for (std::size_t s = 0; s < num_sums; s += lanes)
        hn::StoreU(hn::Max(hn::LoadU(d, maxima + s), hn::Load(d, sums + s)), d, maxima + s);
    }
  }
}

}  // namespace culmen::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace culmen {

HWY_EXPORT(SubsetMaxima);

void subset_maxima(const double* values, std::size_t stride, int num_rows, int num_attributes,
                   double* maxima) {
  HWY_DYNAMIC_DISPATCH(SubsetMaxima)(values, stride, num_rows, num_attributes, maxima);
}

}  // namespace culmen
#endif  // HWY_ONCE
