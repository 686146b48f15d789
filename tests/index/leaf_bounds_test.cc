// The bounds of a leaf against the sums of its rows in a wider format.
#include "index/leaf_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/half.h"
#include "index/build/bulk_load.h"
#include "index/snapshot.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

// Compares the bounds of every leaf under the first node with sums in a wider format. Returns how many rows the
// opposite rounding would not have covered.
std::uint64_t expect_rows_cover_real_sums(const Snapshot& s) {
  std::uint64_t others_would_fail = 0;
  const auto leaf_rows = static_cast<std::uint64_t>(s.leaf_rows);
  const auto in_units = [&s](std::uint64_t row, int attribute) {
    const BoundUnit& unit = s.units[static_cast<std::size_t>(attribute)];
    return (static_cast<long double>(s.value(row, attribute)) - static_cast<long double>(unit.origin)) *
           static_cast<long double>(unit.inverse);
  };
  const auto stored = [&s](int row, std::uint32_t leaf) {
    return static_cast<long double>(s.node(0).bounds()[row][leaf]);
  };
  // row: of the maximum.
  const auto check_extremes = [&](int row, const std::vector<int>& subset) {
    for (std::uint32_t leaf = 0; leaf < s.node(0).header().num_children; ++leaf)
      for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
        long double sum = 0;
        for (const int attribute : subset) sum += in_units(leaf * leaf_rows + r, attribute);
        EXPECT_GE(stored(row, leaf), sum) << "bounds row " << row << ", leaf " << leaf;
        EXPECT_LE(stored(row + s.layout.first_minimum_row(), leaf), sum) << "of minima";
        const float down = round_down_to_half(static_cast<double>(sum));
        others_would_fail += static_cast<long double>(down) < sum ? 1 : 0;
      }
  };
  for (int g = 0; g < s.layout.num_groups(); ++g) {
    const BoundLayout::Group group = s.layout.group(g);
    for (unsigned mask = 1; mask < 1u << group.size; ++mask) {
      std::vector<int> subset;
      for (int i = 0; i < group.size; ++i)
        if ((mask >> i & 1) != 0) subset.push_back(group.first_attribute + i);
      check_extremes(s.layout.subset_row(g, mask, Extreme::maximum), subset);
    }
  }
  if (s.layout.has_total()) {
    std::vector<int> everything;
    for (int i = 0; i < s.num_attributes(); ++i) everything.push_back(i);
    check_extremes(s.layout.total_row(Extreme::maximum), everything);
  }
  if (s.layout.is_wide()) {
    int exponent = s.units[0].exponent;
    for (const BoundUnit& unit : s.units) exponent = std::max(exponent, unit.exponent);
    for (std::uint32_t leaf = 0; leaf < s.node(0).header().num_children; ++leaf)
      for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
        long double squares = 0;
        for (int i = 0; i < s.num_attributes(); ++i) {
          const long double part = std::ldexp(in_units(leaf * leaf_rows + r, i),
                                              s.units[static_cast<std::size_t>(i)].exponent - exponent);
          squares += part * part;
        }
        const long double length = std::sqrt(squares);
        EXPECT_GE(stored(s.layout.length_row(Extreme::maximum), leaf), length) << "leaf " << leaf;
        EXPECT_LE(stored(s.layout.length_row(Extreme::minimum), leaf), length) << "leaf " << leaf;
      }
  }
  return others_would_fail;
}

TEST(LeafBounds, CoverTheRealSumsOfEverySubset) {
  std::uint64_t others_would_fail = 0;
  for (std::uint64_t trial = 0; trial < 400; ++trial) {
    Random random(trial + 1);
    const Table table = random_table(random, static_cast<ValueClass>(trial % kNumValueClasses),
                                     1 + random.below(40), random_width(random, 12));
    others_would_fail +=
        expect_rows_cover_real_sums(*bulk_load(table.view(), {.leaf_rows = 16, .num_threads = 1}));
  }
  EXPECT_GT(others_would_fail, 0u);
}

// 1 + 2^-54 rounds to 1 in binary64, which the stored format represents: rounding up afterwards is too late. Likewise
// 1 - 2^-54, for the minima, and a total of nine attributes.
TEST(LeafBounds, CoverSumsThatRoundBeforeTheyAreStored) {
  for (const std::size_t d : {2, 3, 9}) {
    const std::size_t n = 48;
    std::vector<std::vector<double>> columns(d, std::vector<double>(n, 0.0));
    for (std::size_t r = 0; r < n; ++r) {
      columns[0][r] = r < 16 ? 1 : 0;  // in leaf 0: 1, and 2^-54 in all others
      for (std::size_t i = 1; i < d; ++i) columns[i][r] = r < 16 ? 0x1p-54 : r < 32 ? 1 : 0;
    }
    for (std::size_t r = 0; r < n; ++r)
      if (d == 3) columns[2][r] = r < 32 ? 1 : 0x1p-54;  // its origin: 1 - 2^-54 in the others
    Table table;
    table.num_rows = n;
    for (const std::vector<double>& column : columns) {
      table.attributes.push_back({std::string(table.attributes.size() + 1, 'a')});
      table.columns.emplace_back(column);
    }
    expect_rows_cover_real_sums(*bulk_load(table.view(), {.num_partitions = 1, .leaf_rows = 16}));
  }
}

}  // namespace
}  // namespace culmen::test
