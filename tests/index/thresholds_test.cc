// Threshold tuples against the rows of all later leaves.
#include "index/thresholds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "index/build/bulk_load.h"
#include "index/snapshot.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

// After a build, leaf slots are in the order of the tree.
TEST(Thresholds, CoverAllLaterLeavesOfThePartitionAndNoMore) {
  Random random(4);
  const Table table = random_table(random, ValueClass::uniform_f64, 2000, 3);
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {.num_partitions = 4, .leaf_rows = 16});
  for (std::size_t leaf = 0; leaf < s->num_leaves; ++leaf) {
    std::vector<double> highest(3, -std::numeric_limits<double>::infinity()),
        lowest(3, std::numeric_limits<double>::infinity());
    std::int64_t min_id = kNoId;
    for (std::size_t later = leaf + 1; later < s->num_leaves; ++later) {
      if (s->leaf(later).partition != s->leaf(leaf).partition) continue;
      for (std::uint32_t r = 0; r < s->leaf(later).num_rows; ++r) {
        min_id = std::min(min_id, s->leaf_ids(later)[r]);
        for (int i = 0; i < 3; ++i) {
          const auto a = static_cast<std::size_t>(i);
          highest[a] = std::max(highest[a], s->value(later * 16 + r, i));
          lowest[a] = std::min(lowest[a], s->value(later * 16 + r, i));
        }
      }
    }
    EXPECT_EQ(s->thresholds().min_id(leaf), min_id);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(s->thresholds().maximum<double>(leaf)[i], highest[i]);
      EXPECT_EQ(s->thresholds().minimum<double>(leaf)[i], lowest[i]);
    }
  }
}

}  // namespace
}  // namespace culmen::test
