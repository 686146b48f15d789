// BoundLayout: which upper and lower bounds leaves and nodes have, and the bounds row of each.
//
// Attributes are divided into groups of at most 8. A row has one number per leaf:
//   maxima of subset sums   per group 2^size - 1 rows, one for each non-empty subset of its attributes
//   maximum of the total    one row, only if there is more than one group
//   minima of the same      as many rows in the same order
// Inner nodes store these rows for all children, row by row: a query reads only the rows that it needs.
#pragma once

#include <span>
#include <type_traits>

#include "base/assert.h"
#include "base/host_device.h"

namespace culmen {

inline constexpr int kMaxGroupSize = 8;
inline constexpr int kMaxGroups = 8;

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
      : num_attributes_(num_attributes), num_groups_((num_attributes + kMaxGroupSize - 1) / kMaxGroupSize) {
    CULMEN_ASSERT(num_groups_ <= kMaxGroups);
    for (int g = 0, first = 0; g < num_groups_; ++g) {
      const int size =
          (num_attributes - first + num_groups_ - g - 1) / (num_groups_ - g);  // sizes differ by 1 at most
      groups_[g] = {first, size, num_rows_};
      num_rows_ += (1 << size) - 1;
      first += size;
    }
    if (num_groups_ > 1) total_row_ = num_rows_++;
    first_minimum_row_ = num_rows_;
    num_rows_ *= 2;
  }

  CULMEN_HOST_DEVICE int num_attributes() const { return num_attributes_; }
  CULMEN_HOST_DEVICE int num_rows() const { return num_rows_; }
  std::span<const Group> groups() const { return {groups_, static_cast<std::size_t>(num_groups_)}; }
  CULMEN_HOST_DEVICE int num_groups() const { return num_groups_; }
  CULMEN_HOST_DEVICE const Group& group(int g) const { return groups_[g]; }
  CULMEN_HOST_DEVICE int subset_row(int group, unsigned mask, Extreme extreme) const {
    return first_row(extreme) + groups_[group].first_row + static_cast<int>(mask) - 1;
  }
  int group_of(int attribute) const {
    int group = 0;
    while (attribute >= groups_[group].first_attribute + groups_[group].size) ++group;
    return group;
  }
  int maximum_row(int attribute) const {
    const int group = group_of(attribute);
    return subset_row(group, 1u << (attribute - groups_[group].first_attribute), Extreme::maximum);
  }
  int minimum_row(int attribute) const { return first_minimum_row_ + maximum_row(attribute); }
  CULMEN_HOST_DEVICE bool has_total() const { return total_row_ >= 0; }
  CULMEN_HOST_DEVICE int total_row(Extreme extreme) const { return first_row(extreme) + total_row_; }
  CULMEN_HOST_DEVICE int first_minimum_row() const { return first_minimum_row_; }
  CULMEN_HOST_DEVICE Extreme extreme_of(int row) const {
    return row < first_minimum_row_ ? Extreme::maximum : Extreme::minimum;
  }

 private:
  CULMEN_HOST_DEVICE int first_row(Extreme extreme) const {
    return extreme == Extreme::maximum ? 0 : first_minimum_row_;
  }

  int num_attributes_;
  int num_groups_;
  int num_rows_ = 0;
  int total_row_ = -1;
  int first_minimum_row_ = 0;
  Group groups_[kMaxGroups] = {};
};
static_assert(std::is_trivially_copyable_v<BoundLayout>);  // it is copied to devices

}  // namespace culmen
