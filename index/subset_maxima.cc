#include "index/subset_maxima.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "index/subset_maxima.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A subset's sum is that of its first 3 attributes, the low part, plus that of the others, the high part: on
// every target, whatever its vectors, so that all write the same bits. A vector holds the low sums of one
// row.
constexpr int kLow = 3;
constexpr std::size_t kLowSums = 1 << kLow;
constexpr std::size_t kTileRows = 16;

struct Tile {
  HWY_ALIGN double low[kTileRows * kLowSums];           // [row][low subset]
  HWY_ALIGN double high[(256 / kLowSums) * kTileRows];  // [high subset][row]
};

// The sums of `num_rows` rows from `values` on; a low attribute that there is not counts as 0.
HWY_INLINE void FillTile(const double* values, std::size_t stride, std::size_t num_rows, int num_attributes,
                         Tile& tile) {
  for (std::size_t r = 0; r < num_rows; ++r) {
    double* sums = tile.low + r * kLowSums;
    sums[0] = 0;
    for (int i = 0; i < kLow; ++i) {
      const double value = i < num_attributes ? values[static_cast<std::size_t>(i) * stride + r] : 0.0;
      for (int s = 0; s < 1 << i; ++s) sums[(1 << i) + s] = sums[s] + value;
    }
    tile.high[r] = 0;
  }
  for (int i = kLow; i < num_attributes; ++i) {
    const double* column = values + static_cast<std::size_t>(i) * stride;
    const std::size_t half = std::size_t{1} << (i - kLow);
    for (std::size_t s = 0; s < half; ++s)
      for (std::size_t r = 0; r < num_rows; ++r)
        tile.high[(half + s) * kTileRows + r] = tile.high[s * kTileRows + r] + column[r];
  }
}

// Raises the maxima of kHigh high subsets, times 8 low ones, which stay in registers over the rows of the
// tile.
template <std::size_t kHigh>
HWY_INLINE void RaiseMaxima(const double* low, const double* high, std::size_t num_rows, double* maxima) {
  const hn::CappedTag<double, kLowSums> d;
  for (std::size_t s = 0; s < kLowSums; s += hn::Lanes(d)) {
    hn::Vec<decltype(d)> best[kHigh];
    for (std::size_t h = 0; h < kHigh; ++h) best[h] = hn::Load(d, maxima + h * kLowSums + s);
    for (std::size_t r = 0; r < num_rows; ++r) {
      const auto sums = hn::Load(d, low + r * kLowSums + s);
      for (std::size_t h = 0; h < kHigh; ++h)
        best[h] = hn::Max(best[h], hn::Add(sums, hn::Set(d, high[h * kTileRows + r])));
    }
    for (std::size_t h = 0; h < kHigh; ++h) hn::Store(best[h], d, maxima + h * kLowSums + s);
  }
}

void SubsetMaxima(const double* values, std::size_t stride, int num_rows, int num_attributes,
                  double* maxima) {
  HWY_ALIGN double best[256];
  Tile tile;  // NOLINT(cppcoreguidelines-pro-type-member-init): FillTile writes what is read
  const std::size_t num_high = num_attributes > kLow ? std::size_t{1} << (num_attributes - kLow) : 1;
  std::fill_n(best, num_high * kLowSums, -HUGE_VAL);
  const auto rows = static_cast<std::size_t>(num_rows);
  for (std::size_t first = 0; first < rows; first += kTileRows) {
    const std::size_t count = HWY_MIN(kTileRows, rows - first);
    FillTile(values + first, stride, count, num_attributes, tile);
    std::size_t h = 0;
    for (; h + 8 <= num_high; h += 8)
      RaiseMaxima<8>(tile.low, tile.high + h * kTileRows, count, best + h * kLowSums);
    for (; h < num_high; ++h) RaiseMaxima<1>(tile.low, tile.high + h * kTileRows, count, best + h * kLowSums);
  }
  std::copy_n(best, std::size_t{1} << num_attributes, maxima);
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
