// BoundLayout: which upper and lower bounds leaves and nodes have, and the bounds row of each.
//
// Attributes are divided into groups of at most 8. A row has one number per leaf:
//   maxima of subset sums   per group 2^size - 1 rows, one for each non-empty subset of its attributes
//   maximum of the total    one row, only if there is more than one group
//   minima of the same      as many rows in the same order
// In wide tables, of more than kMaxGroupedAttributes, each attribute is a group of its own, as subsets of 8 say little
// about sums over hundreds. In place of the total they have the length of a row: its distance from the origins of all
// units, in the largest of the units (docs/decisions/0031-wide-tables.md).
// Inner nodes store these rows for all children, row by row: a query reads only the rows that it needs.
#pragma once

#include <type_traits>

#include "base/host_device.h"

namespace culmen {

inline constexpr int kMaxGroupSize = 8;
inline constexpr int kMaxGroupedAttributes = 64;

// The side of a bound: on the largest value in a leaf, or on the smallest.
enum class Extreme : int { maximum, minimum };

class BoundLayout {
 public:
  struct Group {
    int first_attribute;
    int size;
    int first_row;  // of the subset {first_attribute}; the maximum of subset `mask` is in row first_row + mask - 1
  };

  explicit BoundLayout(int num_attributes)
      : num_attributes_(num_attributes),
        num_groups_(is_wide() ? num_attributes : (num_attributes + kMaxGroupSize - 1) / kMaxGroupSize) {
    if (num_groups_ > 0) {
      smaller_size_ = num_attributes / num_groups_;  // sizes differ by 1 at most
      num_larger_ = num_attributes % num_groups_;
    }
    num_rows_ = first_row_of(num_groups_);
    if (num_groups_ > 1) (is_wide() ? length_row_ : total_row_) = num_rows_++;
    first_minimum_row_ = num_rows_;
    num_rows_ *= 2;
  }

  CULMEN_HOST_DEVICE int num_attributes() const { return num_attributes_; }
  CULMEN_HOST_DEVICE bool is_wide() const { return num_attributes_ > kMaxGroupedAttributes; }
  CULMEN_HOST_DEVICE int num_rows() const { return num_rows_; }
  CULMEN_HOST_DEVICE int num_groups() const { return num_groups_; }
  CULMEN_HOST_DEVICE Group group(int g) const {
    const bool is_larger = g < num_larger_;
    return {g * smaller_size_ + (is_larger ? g : num_larger_), smaller_size_ + (is_larger ? 1 : 0),
            first_row_of(g)};
  }
  CULMEN_HOST_DEVICE int subset_row(int group, unsigned mask, Extreme extreme) const {
    return first_row(extreme) + first_row_of(group) + static_cast<int>(mask) - 1;
  }
  int group_of(int attribute) const {
    const int in_larger = num_larger_ * (smaller_size_ + 1);
    return attribute < in_larger ? attribute / (smaller_size_ + 1)
                                 : num_larger_ + (attribute - in_larger) / smaller_size_;
  }
  int maximum_row(int attribute) const {
    const int number = group_of(attribute);
    return subset_row(number, 1u << (attribute - group(number).first_attribute), Extreme::maximum);
  }
  int minimum_row(int attribute) const { return first_minimum_row_ + maximum_row(attribute); }
  CULMEN_HOST_DEVICE bool has_total() const { return total_row_ >= 0; }
  CULMEN_HOST_DEVICE int total_row(Extreme extreme) const { return first_row(extreme) + total_row_; }
  CULMEN_HOST_DEVICE int length_row(Extreme extreme) const {
    return first_row(extreme) + length_row_;
  }  // if wide
  CULMEN_HOST_DEVICE int first_minimum_row() const { return first_minimum_row_; }
  CULMEN_HOST_DEVICE Extreme extreme_of(int row) const {
    return row < first_minimum_row_ ? Extreme::maximum : Extreme::minimum;
  }

 private:
  CULMEN_HOST_DEVICE int first_row(Extreme extreme) const {
    return extreme == Extreme::maximum ? 0 : first_minimum_row_;
  }

  // Larger groups come first.
  CULMEN_HOST_DEVICE int first_row_of(int group) const {
    const int of_smaller = (1 << smaller_size_) - 1, of_larger = (2 << smaller_size_) - 1;
    return group < num_larger_ ? group * of_larger
                               : num_larger_ * of_larger + (group - num_larger_) * of_smaller;
  }

  int num_attributes_;
  int num_groups_;
  int smaller_size_ = 0;
  int num_larger_ = 0;  // groups of one attribute more
  int num_rows_ = 0;
  int total_row_ = -1;
  int length_row_ = -1;
  int first_minimum_row_ = 0;
};
static_assert(std::is_trivially_copyable_v<BoundLayout>);  // it is copied to devices

}  // namespace culmen
