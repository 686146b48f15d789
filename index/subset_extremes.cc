#include "index/subset_extremes.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "index/subset_extremes.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A subset's sum is that of its first 3 attributes, the low part, plus that of the others, the high part. This order
// holds for every vector width, so all targets write the same bits. A vector has the low sums of one row.
constexpr int kLow = 3;
constexpr std::size_t kLowSums = 1 << kLow;
constexpr std::size_t kTileRows = 16;

struct Tile {
  HWY_ALIGN double low[kTileRows * kLowSums];           // [row][low subset]
  HWY_ALIGN double high[(256 / kLowSums) * kTileRows];  // [high subset][row]
};

// The sums of `num_rows` rows from `values` on. A missing low attribute counts as 0.
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

// Widens the extremes of kHigh high subsets times 8 low ones by the rows of the tile. They stay in registers.
template <std::size_t kHigh>
HWY_INLINE void Widen(const double* low, const double* high, std::size_t num_rows, double* maxima,
                      double* minima) {
  const hn::CappedTag<double, kLowSums> d;
  for (std::size_t s = 0; s < kLowSums; s += hn::Lanes(d)) {
    hn::Vec<decltype(d)> largest[kHigh], smallest[kHigh];
    for (std::size_t h = 0; h < kHigh; ++h) {
      largest[h] = hn::Load(d, maxima + h * kLowSums + s);
      smallest[h] = hn::Load(d, minima + h * kLowSums + s);
    }
    for (std::size_t r = 0; r < num_rows; ++r) {
      const auto sums = hn::Load(d, low + r * kLowSums + s);
      for (std::size_t h = 0; h < kHigh; ++h) {
        const auto sum = hn::Add(sums, hn::Set(d, high[h * kTileRows + r]));
        largest[h] = hn::Max(largest[h], sum);
        smallest[h] = hn::Min(smallest[h], sum);
      }
    }
    for (std::size_t h = 0; h < kHigh; ++h) {
      hn::Store(largest[h], d, maxima + h * kLowSums + s);
      hn::Store(smallest[h], d, minima + h * kLowSums + s);
    }
  }
}

void SubsetExtremes(const double* values, std::size_t stride, int num_rows, int num_attributes,
                    double* maxima, double* minima) {
  constexpr std::size_t kHighAtOnce = 4;
  HWY_ALIGN double largest[256];
  HWY_ALIGN double smallest[256];
  Tile tile;  // NOLINT(cppcoreguidelines-pro-type-member-init): FillTile writes what is read
  const std::size_t num_high = num_attributes > kLow ? std::size_t{1} << (num_attributes - kLow) : 1;
  std::fill_n(largest, num_high * kLowSums, -HUGE_VAL);
  std::fill_n(smallest, num_high * kLowSums, HUGE_VAL);
  const auto rows = static_cast<std::size_t>(num_rows);
  for (std::size_t first = 0; first < rows; first += kTileRows) {
    const std::size_t count = HWY_MIN(kTileRows, rows - first);
    FillTile(values + first, stride, count, num_attributes, tile);
    std::size_t h = 0;
    for (; h + kHighAtOnce <= num_high; h += kHighAtOnce)
      Widen<kHighAtOnce>(tile.low, tile.high + h * kTileRows, count, largest + h * kLowSums,
                         smallest + h * kLowSums);
    for (; h < num_high; ++h)
      Widen<1>(tile.low, tile.high + h * kTileRows, count, largest + h * kLowSums, smallest + h * kLowSums);
  }
  std::copy_n(largest, std::size_t{1} << num_attributes, maxima);
  std::copy_n(smallest, std::size_t{1} << num_attributes, minima);
}

}  // namespace culmen::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace culmen {

HWY_EXPORT(SubsetExtremes);

void subset_extremes(const double* values, std::size_t stride, int num_rows, int num_attributes,
                     double* maxima, double* minima) {
  HWY_DYNAMIC_DISPATCH(SubsetExtremes)(values, stride, num_rows, num_attributes, maxima, minima);
}

}  // namespace culmen
#endif  // HWY_ONCE
