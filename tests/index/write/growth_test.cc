// Rows inserted in a special order: a column that always rises or falls, clusters, descending ids. In every order
// partitions stay small and leaves nearly full.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/harness.h"
#include "tests/index/write/tree_model.h"
#include "tests/oracle.h"

namespace culmen::test {
namespace {

using Rows = std::map<std::int64_t, ModelRow>;

constexpr int kColumns = 3;
constexpr std::size_t kMaxPagesOfSplit = 32;  // index/write/rebalance_plan.cc
constexpr std::size_t kPagesOfRepacking = 8;  // of one batch

struct RowOrder {
  std::string name;
  // First attribute and id of the n-th row inserted after the build.
  std::function<double(Random&, int n)> first;
  std::function<std::int64_t(int n)> id;
  bool splits = true;  // so many per cluster

  friend void PrintTo(const RowOrder& order, std::ostream* out) { *out << order.name; }
};

constexpr int kBuilt = 12'000;

std::vector<RowOrder> row_orders() {
  const auto any = [](Random& random, int) { return random.uniform(0, 1); };
  const auto ascending = [](int n) { return kBuilt + std::int64_t{n}; };
  return {
      {"random", any, ascending, false},
      {"rising", [](Random&, int n) { return 1 + n * 1e-4; }, ascending},
      {"falling", [](Random&, int n) { return -n * 1e-4; }, ascending},
      {"far_out", [](Random&, int n) { return (n % 2 == 0 ? 1e30 : -1e30) * (1 + n); }, ascending},
      {"falling_ids", any, [](int n) { return -std::int64_t{n} - 1; }, false},
      {"least_ids", [](Random&, int n) { return n * 0.25; },
       [](int n) { return std::numeric_limits<std::int64_t>::min() + 20'000 - n; }},
  };
}

class Growth : public testing::TestWithParam<RowOrder> {
 protected:
  Growth() {
    for (int r = 0; r < kBuilt; ++r) rows_[r] = row(random_.uniform(0, 1), 1);
  }
  ModelRow row(double first, double width) {
    ModelRow row{first};
    while (row.size() < kColumns) row.push_back(random_.uniform(0, width));
    for (double& value : row) value = static_cast<float>(value);
    return row;
  }
  ChangeMaker next_batch(int num_rows) {
    ChangeMaker batch(rows_);
    for (int r = 0; r < num_rows; ++r, ++num_added_)
      batch.upsert(GetParam().id(num_added_), row(GetParam().first(random_, num_added_), 0.125));
    return batch;
  }
  // The added rows again: their partitions have no page by then.
  void empty_partitions_and_fill_some(TreeWriter& writer) {
    ChangeMaker erasure(rows_);
    for (int n = 0; n < num_added_; ++n) erasure.erase(GetParam().id(n));
    const auto apply = [&](const ChangeMaker& batch) {
      writer.apply(batch.make(kColumns, false));
      batch.apply_to(rows_);
      ASSERT_EQ(fault_in(*writer.finish_version(writer.current().version), rows_), "");
    };
    apply(erasure);
    for (int step = 0; step < (kSanitized ? 3 : 40); ++step) {
      ChangeMaker batch(rows_);
      const auto n = static_cast<int>(random_.below(static_cast<std::uint64_t>(num_added_)));
      batch.upsert(GetParam().id(n), row(GetParam().first(random_, n), 0.125));
      apply(batch);
    }
  }
  std::size_t most_pages(const Snapshot& s) const {
    std::size_t most = 0;
    for (const PartitionRange& range : s.order().partitions)
      most = std::max<std::size_t>(most, range.num_leaves);
    return most;
  }

  Random random_{5};
  Rows rows_;
  int num_added_ = 0;
};

TEST_P(Growth, KeepsPartitionsSmallAndLeavesFull) {
  for (const Partitioning kind : {Partitioning::kd, Partitioning::angle}) {
    rows_.clear();
    num_added_ = 0;
    for (int r = 0; r < kBuilt; ++r) rows_[r] = row(random_.uniform(0, 1), 1);
    const TreeShape shape{.partitioning = kind};
    TreeWriter writer(load_tree(rows_, shape));
    const std::uint32_t partitions_before = writer.current().partitioner->num_partitions();
    const std::size_t most_before = most_pages(writer.current());
    std::shared_ptr<const Snapshot> version;
    for (const int num_rows : {1, 1, 700, 40, 3000, 1, 9, 2000, 300, 300, 300}) {
      const ChangeMaker batch = next_batch(num_rows);
      writer.apply(batch.make(kColumns, false));
      batch.apply_to(rows_);
      version = writer.finish_version(writer.current().version);
      if (kSanitized && num_rows < 1000) continue;  // the model takes longest to look at all rows
      ASSERT_EQ(fault_in(*version, rows_), "") << num_added_ << " rows";
    }
    ASSERT_EQ(fault_in(*version, rows_), "");
    // Whether a partition is split is decided before its pages are repacked, which may make a few more of them.
    EXPECT_LE(most_pages(*version), std::max(kMaxPagesOfSplit, 2 * most_before) + kPagesOfRepacking);
    const std::size_t num_leaves = version->num_leaves, num_rows = rows_.size();
    const std::uint32_t num_partitions = version->partitioner->num_partitions();
    if (GetParam().splits) {
      EXPECT_GT(num_partitions, partitions_before);
    }
    EXPECT_LT(static_cast<double>(num_leaves), 1.25 * static_cast<double>(num_rows) / version->leaf_rows);
    empty_partitions_and_fill_some(writer);
  }
}

// Columns and ids of rows, which must outlive the view.
struct GrownColumns {
  std::vector<std::vector<double>> columns{kColumns};
  std::vector<std::int64_t> ids;

  void add(std::int64_t id, const ModelRow& row) {
    ids.push_back(id);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].push_back(row[i]);
  }
  TableView view() const {
    TableView table{ids.size(), {{"a"}, {"b", Preference::low}, {"c"}}, {}, ids, {}};
    for (const std::vector<double>& column : columns) table.columns.emplace_back(column);
    return table;
  }
};

TEST_P(Growth, AnswersAsTheOracleAndGoesOnWhenOpenedAgain) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  GrownColumns all;
  for (const auto& [id, row] : rows_) all.add(id, row);
  Index::build(all.view(), {.leaf_rows = 16, .value_type = ValueType::float32}).save(path);
  for (const bool checkpoint : {true, false, true}) {
    Index index = Index::open(path, {.writable = true, .durability = Durability::os});
    for (const int num_rows : {2500, 1, 300}) {
      GrownColumns batch;
      for (int r = 0; r < num_rows; ++r, ++num_added_) {
        const ModelRow next = row(GetParam().first(random_, num_added_), 0.125);
        batch.add(GetParam().id(num_added_), next);
        all.add(GetParam().id(num_added_), next);
      }
      index.insert(batch.view());
    }
    if (checkpoint) index.checkpoint();
    index.close();
    const Index opened = Index::open(path);
    ASSERT_EQ(opened.verify(), std::vector<std::string>());
    EXPECT_EQ(opened.info().num_rows, all.ids.size());
    if (checkpoint) {
      EXPECT_EQ(opened.info().num_partitions, index.info().num_partitions);
    }
    const Oracle oracle(all.view(), false);
    for (const double sign : {1.0, -1.0}) {
      const Query query{.weights = {sign, 0.5, -0.25}, .k = 50};
      const std::vector<Answer> expected = oracle.search(query);
      for (const Engine engine : kEngines)
        EXPECT_EQ(difference(opened.search(query, {.engine = engine}).hits, expected), "")
            << engine_name(engine);
    }
  }
}

ModelRow random_row(Random& random) {
  ModelRow row;
  while (row.size() < kColumns) row.push_back(static_cast<float>(random.uniform(0, 1)));
  return row;
}

// As many leaves as after a build, or a few more.
TEST(GrowthByRandomRows, MakesFewMoreLeavesThanABuild) {
  Random random(6);
  Rows rows;
  const auto add = [&](int count) {
    ChangeMaker batch(rows);
    for (int r = 0; r < count; ++r)
      batch.upsert(static_cast<std::int64_t>(rows.size()) + r, random_row(random));
    return batch;
  };
  add(60'000).apply_to(rows);
  const TreeShape shape{.leaf_rows = 96, .partitioning = Partitioning::kd};
  TreeWriter writer(load_tree(rows, shape));
  std::shared_ptr<const Snapshot> version;
  for (int b = 0; b < 24; ++b) {
    const ChangeMaker batch = add(500);
    writer.apply(batch.make(kColumns, false));
    batch.apply_to(rows);
    version = writer.finish_version(writer.current().version);
    if (b != 4 && b != 23) continue;  // 4 and 20 % more
    EXPECT_LT(static_cast<double>(version->num_leaves),
              1.15 * static_cast<double>(load_tree(rows, shape)->num_leaves));
  }
  ASSERT_EQ(fault_in(*version, rows), "");
}

// And as few after the rows have been erased again.
TEST(GrowthByRandomRows, LeavesNoHalfEmptyLeavesWhenTheyGo) {
  Random random(7);
  Rows rows;
  for (int r = 0; r < 60'000; ++r) rows[r] = random_row(random);
  const TreeShape shape{.leaf_rows = 96, .partitioning = Partitioning::kd};
  TreeWriter writer(load_tree(rows, shape));
  std::shared_ptr<const Snapshot> version;
  for (int b = 0; b < 50; ++b) {
    ChangeMaker batch(rows);
    for (int r = 0; r < 800; ++r) batch.erase(static_cast<std::int64_t>(random.below(60'000)));
    writer.apply(batch.make(kColumns, false));
    batch.apply_to(rows);
    version = writer.finish_version(writer.current().version);
  }
  EXPECT_LT(static_cast<double>(version->num_leaves),
            1.3 * static_cast<double>(load_tree(rows, shape)->num_leaves));
  ASSERT_EQ(fault_in(*version, rows), "");
}

INSTANTIATE_TEST_SUITE_P(All, Growth, testing::ValuesIn(row_orders()),
                         [](const auto& suite) { return suite.param.name; });

double leaves_of_node(const Snapshot& s) {
  const auto is_above_leaves = [&s](std::uint32_t node) { return s.node(node).header().level == 1; };
  return static_cast<double>(s.num_leaves) /
         static_cast<double>(std::ranges::count_if(s.order().nodes, is_above_leaves));
}

// Of 32 that they have after a build. If full nodes split whatever their neighbours have, 15 are left at the end.
TEST(Nodes, StayFullUnderRandomChanges) {
  Random random(7);
  const auto drawn = [&random] {
    ModelRow row;
    for (int i = 0; i < kColumns; ++i) row.push_back(static_cast<float>(random.uniform(0, 1)));
    return row;
  };
  Rows rows;
  std::int64_t next_id = 0;
  while (next_id < 20'000) rows[next_id++] = drawn();
  TreeWriter writer(load_tree(rows, {}));
  const auto change = [&](bool shrinks) {
    ChangeMaker batch(rows);
    for (int n = 0; n < 200; ++n) {
      batch.erase(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(next_id))));
      if (!shrinks) batch.upsert(next_id++, drawn());
    }
    writer.apply(batch.make(kColumns, false));
    batch.apply_to(rows);
    return writer.finish_version(writer.current().version);
  };
  std::shared_ptr<const Snapshot> version;
  for (int batch = 0; batch < 60; ++batch) version = change(false);
  EXPECT_GT(leaves_of_node(*version), 24.0);
  for (int batch = 0; batch < 60; ++batch) version = change(true);
  EXPECT_GT(leaves_of_node(*version), 22.0);
  ASSERT_EQ(fault_in(*version, rows), "");
}

}  // namespace
}  // namespace culmen::test
