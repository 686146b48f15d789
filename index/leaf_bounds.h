// LeafBounds: for each bounds row of the layout, a float that no row of a leaf exceeds (minima: falls below), rounding
// included.
#pragma once

#include <span>
#include <vector>

#include "base/host_device.h"
#include "index/attribute_stats.h"
#include "index/bound_layout.h"
#include "index/bound_row.h"

namespace culmen {

// A computed sum of g unit values, each a rounded difference of two numbers, is off by less than
// (g + 1) * 2^-53 * sum |X|, and underflow. Returns more than twice that.
CULMEN_HOST_DEVICE inline double sum_error(double sum_of_max_abs, int num_terms) {
  return (2.0 * num_terms + 8.0) * 0x1p-53 * sum_of_max_abs + 0x1p-1000;
}

// Keeps its scratch memory between calls. Use one per thread.
class LeafBounds {
 public:
  // `exact_sums`: no sum of unit values rounds, so stored maxima need no error bound.
  LeafBounds(const BoundLayout& layout, std::span<const BoundUnit> units, bool exact_sums, int leaf_rows);

  // values: [num_attributes][leaf_rows] oriented; the first num_rows >= 1 of each attribute are used.
  // rows: [layout.num_rows()] out.
  template <typename T>
  void compute(const T* values, int num_rows, std::span<float> rows);

 private:
  template <typename T>
  void to_units(const T* values, int num_rows);
  void write_group(const BoundLayout::Group& group, int num_rows, std::span<float> rows);
  void write_total(int num_rows, std::span<float> rows) const;
  void write_length(int num_rows, std::span<float> rows) const;
  void write_row(int row, double maximum, double minimum, double error_bound, std::span<float> rows) const;

  const BoundLayout& layout_;
  std::span<const BoundUnit> units_;
  bool exact_sums_;
  std::size_t stride_;
  std::vector<double> units_values_;             // [num_attributes][leaf_rows] in bound units
  std::vector<double> max_abs_;                  // [num_attributes] of units_values_
  std::vector<double> maxima_, minima_;          // [2^8] of one group
  std::vector<double> sum_of_max_abs_, errors_;  // [2^8] of one group
};

// What compute() adds to each bounds row, or subtracts for minima, if sums may round: for a leaf whose unit values have
// absolute values of at most max_abs[i]. Monotone in max_abs. [layout.num_rows()]
std::vector<double> bound_error(const BoundLayout& layout, std::span<const double> max_abs);

// Computes a node's own bounds from those of its children.
// bounds: [num_rows]; rows: [num_rows] out.
void aggregate_bounds(const BoundRow* bounds, std::uint32_t num_children, std::span<float> rows);

// bounds: [num_rows][kFanOut]; the first num_children of each row are used. rows: [num_rows] out.
void encode_bounds(const BoundLayout& layout, std::span<const float> bounds, std::uint32_t num_children,
                   BoundRow* rows);

}  // namespace culmen
