// Clustered builds: which rows share a partition, and how they keep doing so when the index grows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "index/build/bulk_load.h"
#include "index/snapshot_fields.h"
#include "index/verify.h"

namespace culmen {
namespace {

// One attribute, two fields, 40,000 rows. A quarter of the rows have the value 0 of `group`, a quarter 1, the others one
// of 5,000 rare values.
class ClusterTest : public testing::Test {
 protected:
  static constexpr std::size_t kRows = 40'000;

  ClusterTest() {
    for (std::size_t row = 0; row < kRows; ++row) {
      rank_.push_back(static_cast<double>(random_() % 100'000));
      group_.push_back(row % 4 < 2 ? static_cast<std::int64_t>(row % 4)
                                   : static_cast<std::int64_t>(random_() % 5000) + 2);
    }
  }

  TableView table() {
    TableView view{kRows, {{"rank"}}, {rank_}, {}, {}};
    view.fields = {{"group", FieldRole::filter, {ColumnType::integer}},
                   {"shown", FieldRole::stored, {ColumnType::integer}}};
    view.field_views = {ColumnView(group_), ColumnView(group_)};
    return view;
  }

  // The values of `group` in each partition.
  static std::map<std::uint32_t, std::set<double>> values_of(const Snapshot& s) {
    std::map<std::uint32_t, std::set<double>> values;
    for (const std::uint32_t leaf : s.order().leaves)
      for (std::uint32_t row = 0; row < s.leaf(leaf).num_rows; ++row)
        values[s.leaf(leaf).partition].insert(cut_value(s, leaf, row, 1));
    return values;
  }

  std::mt19937_64 random_{3};
  std::vector<double> rank_;
  std::vector<std::int64_t> group_;
};

TEST_F(ClusterTest, FrequentValuesHaveTheirPartitionsAndRareOnesShareRanges) {
  const auto s = bulk_load(table(), {.cluster = "group", .leaf_rows = 16});
  EXPECT_EQ(s->cluster_name(), "group");
  EXPECT_TRUE(verify_snapshot(*s, true).empty());
  std::size_t num_of_frequent = 0, num_of_rare = 0;
  for (const auto& [partition, values] : values_of(*s)) {
    if (*values.begin() < 2) {
      EXPECT_EQ(values.size(), 1u) << partition;
      ++num_of_frequent;
    } else {
      EXPECT_LT(*values.rbegin() - *values.begin(), 200) << partition;
      ++num_of_rare;
    }
  }
  EXPECT_GT(num_of_frequent, 20u);  // halved further
  EXPECT_GT(num_of_rare, 30u);
  EXPECT_LT(s->partitioner->num_partitions(), kRows / 16 / 5);
}

TEST_F(ClusterTest, AnAttributeClustersAsWell) {
  const auto s = bulk_load(table(), {.num_partitions = 50, .cluster = "rank", .leaf_rows = 16});
  EXPECT_TRUE(verify_snapshot(*s, true).empty());
  EXPECT_EQ(s->cluster_name(), "rank");
  EXPECT_GE(s->partitioner->num_partitions(), 40u);
  for (const LateSplit& split : s->partitioner->late_splits().all()) EXPECT_EQ(split.column, 0u);
}

TEST_F(ClusterTest, TheNumberOfThreadsChangesNothing) {
  const auto one = bulk_load(table(), {.cluster = "group", .num_threads = 1});
  const auto many = bulk_load(table(), {.cluster = "group", .num_threads = 4});
  EXPECT_EQ(one->partitioner->late_splits().all(), many->partitioner->late_splits().all());
  ASSERT_EQ(one->num_leaves, many->num_leaves);
  for (std::size_t leaf = 0; leaf < one->num_leaves; ++leaf)
    EXPECT_TRUE(std::equal(one->leaf_ids(leaf), one->leaf_ids(leaf) + one->leaf(leaf).num_rows,
                           many->leaf_ids(leaf)));
}

TEST_F(ClusterTest, MissingValuesAndTheEndsOfIntegersHaveTheirPlace) {
  for (std::size_t row = 0; row < kRows; ++row)
    group_[row] = row % 2 == 0 ? std::numeric_limits<std::int64_t>::max()
                               : std::numeric_limits<std::int64_t>::min() + 1;
  std::vector<std::uint8_t> validity(kRows / 8, 0b01110111);
  TableView view = table();
  ColumnView with_gaps(group_);
  with_gaps.validity = {validity.data()};
  view.field_views[0] = with_gaps;
  const auto s = bulk_load(view, {.cluster = "group"});
  EXPECT_TRUE(verify_snapshot(*s, true).empty());
  for (const auto& [partition, values] : values_of(*s)) EXPECT_EQ(values.size(), 1u) << partition;
}

TEST_F(ClusterTest, RefusesAColumnThatIsOnlyShown) {
  EXPECT_THROW(bulk_load(table(), {.cluster = "shown"}), InvalidArgument);
  EXPECT_THROW(bulk_load(table(), {.cluster = "id"}), InvalidArgument);
}

// A filter on the column reads few leaves, before and after rows of a new value and many of an old one come.
TEST_F(ClusterTest, AFilterMeetsFewOtherRowsAfterChangesToo) {
  Index index = Index::build(table(), {.cluster = "group", .leaf_rows = 16});
  const auto visited = [&index](const std::string& where) {
    const Query query{.weights = {1}, .k = 5, .where = index.filter(where)};
    return index.search(query, {.engine = Engine::bounded, .num_threads = 1}).stats.leaves_visited;
  };
  EXPECT_LE(visited("group = 1"), 4u);
  const std::uint64_t num_partitions = index.info().num_partitions;
  std::vector<double> rank;
  std::vector<std::int64_t> group;
  for (int batch = 0; batch < 12; ++batch) {
    rank.clear();
    group.clear();
    for (int row = 0; row < 1000; ++row) {
      rank.push_back(static_cast<double>(random_() % 100'000));
      group.push_back(row % 2 == 0 ? 9000 : 3);
    }
    TableView rows{rank.size(), {{"rank"}}, {rank}, {}, {}};
    rows.fields = {{"group", FieldRole::filter, {ColumnType::integer}}};
    rows.field_views = {ColumnView(group)};
    index.insert(rows);
  }
  EXPECT_TRUE(index.verify().empty());
  EXPECT_GT(index.info().num_partitions, num_partitions);
  EXPECT_EQ(index.info().cluster, "group");
  EXPECT_LE(visited("group = 9000"), 4u);
  EXPECT_LE(visited("group = 3"), 8u);
  index.compact();
  EXPECT_EQ(index.info().cluster, "group");
  EXPECT_LE(visited("group = 9000"), 4u);
  EXPECT_TRUE(index.verify().empty());
}

}  // namespace
}  // namespace culmen
