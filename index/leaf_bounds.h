// The bounds of one block: for each row of the layout one float that no row of the leaf can exceed (minima: fall
// below), whatever rounding did on the way.
#pragma once

#include <span>
#include <vector>

#include "base/host_device.h"
#include "index/attribute_stats.h"
#include "index/bound_layout.h"
#include "index/bound_row.h"

namespace culmen {

// A computed sum of g unit values, each the rounded difference of two numbers, misses the real sum by less
// than (g + 1) * 2^-53 * sum |X| and what underflows; twice that and a little is added.
CULMEN_HOST_DEVICE inline double sum_error(double sum_of_max_abs, int num_terms) {
  return (2.0 * num_terms + 8.0) * 0x1p-53 * sum_of_max_abs + 0x1p-1000;
}

// Computes bounds of leaves; keeps its scratch memory between calls. One per thread.
class LeafBounds {
 public:
  // `exact_sums`: no sum of unit values rounds, so the stored maxima need no error bound.
  LeafBounds(const BoundLayout& layout, std::span<const BoundUnit> units, bool exact_sums, int leaf_rows);

  // values: [num_attributes][leaf_rows] oriented, of which the first num_rows >= 1 of each attribute count.
  // rows: [layout.num_rows()] out.
  template <typename T>
  void compute(const T* values, int num_rows, std::span<float> rows);

 private:
  template <typename T>
  void to_units(const T* values, int num_rows);
  void write_group(const BoundLayout::Group& group, int num_rows, std::span<float> rows);
  void write_total(int num_rows, std::span<float> rows) const;
  void write_row(int row, double maximum, double minimum, double error_bound, std::span<float> rows) const;

  const BoundLayout& layout_;
  std::span<const BoundUnit> units_;
  bool exact_sums_;
  std::size_t stride_;
  std::vector<double> units_values_;     // [num_attributes][leaf_rows] in bound units
  std::vector<double> max_abs_;          // [num_attributes] of them
  std::vector<double> maxima_, minima_;  // [2^8] of one group
  std::vector<double> sum_of_max_abs_;   // [2^8] of one group
};

// What compute() adds to each row of bounds, or takes off minima, where sums may round: of a leaf whose unit
// values are at most max_abs[i] in size. Never less for larger ones. [layout.num_rows()]
std::vector<double> bound_error(const BoundLayout& layout, std::span<const double> max_abs);

// The rows of an inner node's own bounds, from those of its children.
// bounds: [num_rows]; rows: [num_rows] out.
void aggregate_bounds(const BoundRow* bounds, std::uint32_t num_children, std::span<float> rows);

// bounds: [num_rows][kFanOut], the first num_children of each row count; rows: [num_rows] out.
void encode_bounds(const BoundLayout& layout, std::span<const float> bounds, std::uint32_t num_children,
                   BoundRow* rows);

}  // namespace culmen
