#include "index/bound_layout.h"

#include <gtest/gtest.h>

#include <set>

#include "culmen/index.h"

namespace culmen::test {
namespace {

TEST(BoundLayout, GivesEveryExtremeOfEverySubsetARowOfItsOwn) {
  for (int d = 1; d <= kMaxAttributes; ++d) {
    const BoundLayout layout(d);
    std::multiset<int> rows;
    int attributes = 0;
    for (int g = 0; g < layout.num_groups(); ++g) {
      const BoundLayout::Group group = layout.group(g);
      EXPECT_EQ(group.first_attribute, attributes);
      EXPECT_GE(group.size, 1);
      EXPECT_LE(group.size, d > kMaxGroupedAttributes ? 1 : kMaxGroupSize);
      attributes += group.size;
      for (unsigned mask = 1; mask < 1u << group.size; ++mask)
        for (const Extreme extreme : {Extreme::maximum, Extreme::minimum}) {
          const int row = layout.subset_row(g, mask, extreme);
          EXPECT_EQ(row < layout.first_minimum_row(), extreme == Extreme::maximum);
          rows.insert(row);
        }
    }
    EXPECT_EQ(attributes, d);
    EXPECT_EQ(layout.has_total(), d > kMaxGroupSize && !layout.is_wide());
    EXPECT_EQ(layout.is_wide(), d > kMaxGroupedAttributes);
    if (layout.has_total()) rows.insert(layout.total_row(Extreme::maximum));
    if (layout.has_total()) rows.insert(layout.total_row(Extreme::minimum));
    if (layout.is_wide()) rows.insert(layout.length_row(Extreme::maximum));
    if (layout.is_wide()) rows.insert(layout.length_row(Extreme::minimum));
    EXPECT_EQ(static_cast<int>(rows.size()), layout.num_rows());
    EXPECT_EQ(*rows.begin(), 0);
    EXPECT_EQ(*rows.rbegin(), layout.num_rows() - 1);
    EXPECT_EQ(std::set<int>(rows.begin(), rows.end()).size(), rows.size())
        << "two bounds share a row, d = " << d;
  }
}

TEST(BoundLayout, FindsTheGroupAndExtremesOfEachAttribute) {
  for (int d = 1; d <= kMaxAttributes; ++d) {
    const BoundLayout layout(d);
    for (int i = 0; i < d; ++i) {
      const BoundLayout::Group group = layout.group(layout.group_of(i));
      EXPECT_GE(i, group.first_attribute);
      EXPECT_LT(i, group.first_attribute + group.size);
      EXPECT_EQ(layout.maximum_row(i), group.first_row + (1 << (i - group.first_attribute)) - 1);
      EXPECT_EQ(layout.minimum_row(i), layout.first_minimum_row() + layout.maximum_row(i));
    }
  }
}

TEST(BoundLayout, MakesGroupsOfLikeSize) {
  const BoundLayout layout(9);
  ASSERT_EQ(layout.num_groups(), 2);
  EXPECT_EQ(layout.group(0).size, 5);
  EXPECT_EQ(layout.group(1).size, 4);
}

}  // namespace
}  // namespace culmen::test
