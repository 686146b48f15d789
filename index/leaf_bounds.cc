#include "index/leaf_bounds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "index/bound_rounding.h"
#include "index/snapshot.h"
#include "index/subset_extremes.h"

namespace culmen {

LeafBounds::LeafBounds(const BoundLayout& layout, std::span<const BoundUnit> units, bool exact_sums,
                       int leaf_rows)
    : layout_(layout),
      units_(units),
      exact_sums_(exact_sums),
      stride_(static_cast<std::size_t>(leaf_rows)),
      units_values_(static_cast<std::size_t>(layout.num_attributes()) * stride_),
      max_abs_(static_cast<std::size_t>(layout.num_attributes())),
      maxima_(std::size_t{1} << kMaxGroupSize),
      minima_(maxima_.size()),
      sum_of_max_abs_(maxima_.size()),
      errors_(maxima_.size()) {}

template <typename T>
void LeafBounds::compute(const T* values, int num_rows, std::span<float> rows) {
  to_units(values, num_rows);
  for (int g = 0; g < layout_.num_groups(); ++g) write_group(layout_.group(g), num_rows, rows);
  if (layout_.has_total()) write_total(num_rows, rows);
  if (layout_.is_wide()) write_length(num_rows, rows);
}

template <typename T>
void LeafBounds::to_units(const T* values, int num_rows) {
  for (std::size_t i = 0; i < max_abs_.size(); ++i) {
    const BoundUnit unit = units_[i];
    double largest = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(num_rows); ++r) {
      const double x = unit.to_units(static_cast<double>(values[i * stride_ + r]));
      units_values_[i * stride_ + r] = x;
      largest = std::max(largest, std::fabs(x));
    }
    max_abs_[i] = largest;
  }
}

void LeafBounds::write_group(const BoundLayout::Group& group, int num_rows, std::span<float> rows) {
  const auto first = static_cast<std::size_t>(group.first_attribute);
  subset_extremes(units_values_.data() + first * stride_, stride_, num_rows, group.size, maxima_.data(),
                  minima_.data());
  sum_of_max_abs_[0] = 0;
  for (std::size_t mask = 1; mask < std::size_t{1} << group.size; ++mask) {
    const auto lowest = static_cast<std::size_t>(std::countr_zero(mask));
    sum_of_max_abs_[mask] = sum_of_max_abs_[mask & (mask - 1)] + max_abs_[first + lowest];
    errors_[mask] = exact_sums_ ? 0 : sum_error(sum_of_max_abs_[mask], group.size);
  }
  float* const upper = rows.data() + group.first_row;
  round_bounds(maxima_.data() + 1, minima_.data() + 1, errors_.data() + 1, (std::size_t{1} << group.size) - 1,
               upper, upper + layout_.first_minimum_row());
}

void LeafBounds::write_total(int num_rows, std::span<float> rows) const {
  double largest = -std::numeric_limits<double>::infinity(), smallest = -largest;
  for (std::size_t r = 0; r < static_cast<std::size_t>(num_rows); ++r) {
    double total = 0;
    for (std::size_t i = 0; i < max_abs_.size(); ++i) total += units_values_[i * stride_ + r];
    largest = std::max(largest, total);
    smallest = std::min(smallest, total);
  }
  double sum_of_max_abs = 0;
  for (double value : max_abs_) sum_of_max_abs += value;
  write_row(layout_.total_row(Extreme::maximum), largest, smallest,
            sum_error(sum_of_max_abs, layout_.num_attributes()), rows);
}

// Squares that underflow lose less than the smallest float.
void LeafBounds::write_length(int num_rows, std::span<float> rows) const {
  constexpr double kRounding = 0x1p-40;    // of sums of up to kMaxAttributes squares, and their root
  int exponent = units_.front().exponent;  // of the unit of lengths, the largest
  for (const BoundUnit& unit : units_) exponent = std::max(exponent, unit.exponent);
  std::vector<double> squares(static_cast<std::size_t>(num_rows));
  for (std::size_t i = 0; i < max_abs_.size(); ++i) {
    const double scale = std::ldexp(1.0, units_[i].exponent - exponent);
    for (std::size_t r = 0; r < squares.size(); ++r) {
      const double x = units_values_[i * stride_ + r] * scale;
      squares[r] += x * x;
    }
  }
  const auto [least, most] = std::minmax_element(squares.begin(), squares.end());
  const auto row = static_cast<std::size_t>(layout_.length_row(Extreme::maximum));
  rows[row] = bound_above(std::sqrt(*most) * (1 + kRounding) + 0x1p-500);
  rows[row + static_cast<std::size_t>(layout_.first_minimum_row())] =
      bound_below(std::max(0.0, std::sqrt(*least) * (1 - kRounding) - 0x1p-500));
}

// Writes the row of a maximum, and that of the minimum of the same sum.
void LeafBounds::write_row(int row, double maximum, double minimum, double error_bound,
                           std::span<float> rows) const {
  if (exact_sums_) error_bound = 0;
  const auto place = static_cast<std::size_t>(row);
  rows[place] = bound_above(maximum + error_bound);
  rows[place + static_cast<std::size_t>(layout_.first_minimum_row())] = bound_below(minimum - error_bound);
}

std::vector<double> bound_error(const BoundLayout& layout, std::span<const double> max_abs) {
  std::vector<double> error_bound(static_cast<std::size_t>(layout.num_rows()));
  std::vector<double> sums(std::size_t{1} << kMaxGroupSize);
  for (int g = 0; g < layout.num_groups(); ++g) {
    const BoundLayout::Group group = layout.group(g);
    for (std::size_t mask = 1; mask < std::size_t{1} << group.size; ++mask) {
      const auto lowest = static_cast<std::size_t>(std::countr_zero(mask));
      sums[mask] =
          sums[mask & (mask - 1)] + max_abs[static_cast<std::size_t>(group.first_attribute) + lowest];
      error_bound[static_cast<std::size_t>(group.first_row) + mask - 1] = sum_error(sums[mask], group.size);
    }
  }
  double total = 0;
  for (const double size : max_abs) total += size;
  if (layout.has_total())
    error_bound[static_cast<std::size_t>(layout.total_row(Extreme::maximum))] =
        sum_error(total, layout.num_attributes());
  std::copy_n(error_bound.begin(), layout.first_minimum_row(),
              error_bound.begin() + layout.first_minimum_row());
  return error_bound;
}

template void LeafBounds::compute(const float*, int, std::span<float>);
template void LeafBounds::compute(const double*, int, std::span<float>);

void aggregate_bounds(const BoundRow* bounds, std::uint32_t num_children, std::span<float> rows) {
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = bounds[row].farthest_out(num_children);
}

void encode_bounds(const BoundLayout& layout, std::span<const float> bounds, std::uint32_t num_children,
                   BoundRow* rows) {
  for (int row = 0; row < layout.num_rows(); ++row)
    rows[row].encode(bounds.subspan(static_cast<std::size_t>(row) * kFanOut, num_children),
                     layout.extreme_of(row));
}

}  // namespace culmen
