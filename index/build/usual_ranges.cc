#include "index/build/usual_ranges.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "index/build/sample.h"

namespace culmen {
namespace {

constexpr std::uint64_t kRangeSampleRows = 4096;
constexpr std::uint64_t kRangeTailRows = 64;  // of the sample, at either end
constexpr std::uint64_t kRangeTailStep = 16;

// How far the tail of a table of num_rows rows may reach, in spreads of the sample's middle, if it goes on as in the
// sample. There the distance grows by `growth` from the kRangeTailRows-th row, counted from the end, to the
// (kRangeTailRows / kRangeTailStep)-th. A power of two.
double widest_tail(double growth, std::uint64_t num_rows) {
  double widest = growth;
  constexpr std::uint64_t kSteps = kRangeSampleRows / kRangeTailRows * kRangeTailStep;
  for (std::uint64_t rows = kSteps; rows < num_rows && widest < 0x1p60; rows *= kRangeTailStep)
    widest *= growth;
  return std::exp2(std::ceil(std::log2(widest)));
}

// Puts the `count` smallest and the `count` largest values in their places, in order. count > 0.
void sort_ends(std::span<double> sample, std::size_t count) {
  const auto first = sample.begin(), last = sample.end();
  const auto low_end = first + static_cast<std::ptrdiff_t>(count),
             high = last - static_cast<std::ptrdiff_t>(count);
  if (high < low_end) return std::sort(first, last);
  std::nth_element(first, low_end, last);
  std::sort(first, low_end);
  std::nth_element(low_end, high, last);
  std::sort(high, last);
}

// Narrows the range to what a tail like the sample's would reach. The new ends are multiples of every power of two that
// divides all values, because the lower one becomes an origin.
void narrow(std::span<double> sample, std::uint64_t num_rows, AttributeStats& range) {
  const std::size_t tail = sample.size() * kRangeTailRows / kRangeSampleRows;
  sort_ends(sample, tail + 1);
  // Stand-ins, which the range does not cover, are values here.
  range.minimum = std::min(range.minimum, sample.front());
  range.maximum = std::max(range.maximum, sample.back());
  const auto from_below = [&](std::size_t rank) { return sample[rank]; };
  const auto from_above = [&](std::size_t rank) { return sample[sample.size() - 1 - rank]; };
  const double low = from_below(tail), high = from_above(tail), spread = high - low;
  if (!(spread > 0)) return;
  const auto reach = [&](double distance) { return spread * widest_tail(distance / spread, num_rows); };
  range.minimum = std::max(range.minimum, high - reach(high - from_below(tail / kRangeTailStep)));
  range.maximum = std::min(range.maximum, low + reach(from_above(tail / kRangeTailStep) - low));
}

}  // namespace

std::vector<AttributeStats> usual_ranges(const Snapshot& snapshot, const TableView& table) {
  std::vector<AttributeStats> ranges = snapshot.stats;
  if (table.num_rows == 0) return ranges;
  RowChunk sample = read_sample(table, snapshot.value_type, std::min(kRangeSampleRows, table.num_rows));
  for (std::size_t i = 0; i < ranges.size(); ++i) narrow(sample.attribute(i), table.num_rows, ranges[i]);
  return ranges;
}

}  // namespace culmen
