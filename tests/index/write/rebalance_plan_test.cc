// RebalancePlan: every edited page is rewritten or repacked once, and no leaf of the plan is overfull.
#include "index/write/rebalance_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "index/write/edited_pages.h"
#include "tests/index/write/tree_model.h"

namespace culmen::test {
namespace {

using Rows = std::map<std::int64_t, ModelRow>;

// Plans a batch on the tree of these rows.
class PlannedBatch {
 public:
  PlannedBatch(const Rows& rows, const TreeShape& shape, const ChangeMaker& batch)
      : base_(load_tree(rows, shape)),
        next_(std::make_shared<Snapshot>(base_->metadata(), base_->tree())),
        tree_(*base_),
        change_(batch.make(shape.num_attributes, shape.labels)) {
    ++next_->version;
    tree_.begin_version(*next_);
    rows_.emplace(change_, *next_);
    std::vector<OrderKey> keys = keys_of(*rows_, *next_);
    add_missing_pages(keys, tree_);
    located_.emplace(*rows_, std::move(keys), tree_);
    plan = plan_rebalance(tree_, *located_);
  }

  void expect_each_page_once() const {
    std::map<PageNumber, int> times;
    for (const PageEdit& edit : plan.rewrites) ++times[edit.page];
    for (const Repack& repack : plan.repacks)
      for (const PageNumber page : repack.pages) ++times[page];
    for (const PageEdit& edit : located_->edits()) EXPECT_EQ(times[edit.page], 1) << "page " << edit.page;
    for (const auto& [page, count] : times) EXPECT_EQ(count, 1) << "page " << page;
  }

  void expect_all_rows_to_fit() const {
    const EditedPages pages(tree_, *located_);
    for (const PageEdit& edit : plan.rewrites) EXPECT_LE(pages.num_rows(edit), pages.max_rows());
    for (const Repack& repack : plan.repacks) {
      std::size_t before = 0, after = 0;
      for (const PageEdit& edit : repack.edits) before += pages.num_rows(edit);
      for (const Repack::Part& part : repack.parts) {
        std::size_t rows = 0;
        for (const Run& run : part.runs) rows += run.count;
        EXPECT_LE(rows, pages.max_rows());
        after += rows;
      }
      EXPECT_EQ(after, before);
    }
  }

  RebalancePlan plan;

 private:
  std::shared_ptr<const Snapshot> base_;
  std::shared_ptr<Snapshot> next_;
  WorkingTree tree_;
  Change change_;
  std::optional<BatchRows> rows_;
  std::optional<LocatedChange> located_;
};

Rows random_rows(int count) {
  std::mt19937 random(1);
  Rows rows;
  for (int id = 0; id < count; ++id)
    rows[id] = {static_cast<double>(random() % 1000), static_cast<double>(random() % 1000)};
  return rows;
}

TEST(RebalancePlan, RewritesAPageWithRoom) {
  const Rows rows = random_rows(400);
  ChangeMaker batch(rows);
  batch.upsert(3, rows.at(3));
  const PlannedBatch planned(rows, {.num_attributes = 2, .num_partitions = 1}, batch);
  EXPECT_EQ(planned.plan.rewrites.size(), 1u);
  EXPECT_TRUE(planned.plan.repacks.empty());
}

TEST(RebalancePlan, PlansEachPageOnce) {
  const Rows rows = random_rows(2000);
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    ChangeMaker batch(rows);
    const ModelRow near = {static_cast<double>(random() % 1000), static_cast<double>(random() % 1000)};
    for (int i = 0; i < 100; ++i) batch.erase(static_cast<std::int64_t>(random() % 2000));
    for (int i = 0; i < 100; ++i) batch.upsert(2000 + i, {near[0] + i % 10, near[1] + i / 10});
    const PlannedBatch planned(rows, {.num_attributes = 2, .num_partitions = 4}, batch);
    EXPECT_FALSE(planned.plan.repacks.empty());
    planned.expect_each_page_once();
    planned.expect_all_rows_to_fit();
  }
}

TEST(RebalancePlan, SplitsAPartitionThatHasGrown) {
  const Rows rows = random_rows(400);
  ChangeMaker batch(rows);
  for (int i = 0; i < 2000; ++i) batch.upsert(400 + i, {i % 50 / 50.0, i / 50 / 40.0});
  const PlannedBatch planned(
      rows, {.num_attributes = 2, .partitioning = Partitioning::kd, .num_partitions = 1}, batch);
  EXPECT_FALSE(planned.plan.splits.empty());
  EXPECT_TRUE(planned.plan.deferred.empty());
  planned.expect_each_page_once();
  planned.expect_all_rows_to_fit();
}

TEST(RebalancePlan, DefersASplitOfEqualRows) {
  const Rows rows = random_rows(400);
  ChangeMaker batch(rows);
  for (int i = 0; i < 20'000; ++i) batch.upsert(400 + i, {500, 500});
  const PlannedBatch planned(
      rows, {.num_attributes = 2, .partitioning = Partitioning::kd, .num_partitions = 1}, batch);
  EXPECT_EQ(planned.plan.deferred.size(), 1u);
  planned.expect_each_page_once();
  planned.expect_all_rows_to_fit();
}

}  // namespace
}  // namespace culmen::test
