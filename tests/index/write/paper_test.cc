// The worked insertion and deletion of the paper (GTA 2019, figures 5 and 6).
//
// In the paper a leaf has 2 to 3 rows, here up to 16. So 3 to 8 rows stand for each row of the figures, such that
// leaves split and merge at the same steps. The paper splits an overfull leaf alone and merges an underfull one with
// one other; here all its neighbours are repacked. Two rows at (12, 12, 12) and one at (0, 0, 0), first and last in the
// table, give all attributes the same scale, so that the order is that of the largest attribute.
#include <gtest/gtest.h>

#include "cpu/gta.h"
#include "index/thresholds.h"
#include "query/resolve.h"
#include "tests/harness.h"
#include "tests/index/write/tree_model.h"

namespace culmen::test {
namespace {

using Rows = std::map<std::int64_t, ModelRow>;

class PaperTest : public testing::Test {
 protected:
  // Ids of the rows that stand for a row: 100 * number and up. Those of t08 are the smallest, so that it wins ties.
  static std::int64_t id_of(int number, int copy) { return 100 * (number == 8 ? 0 : number) + copy; }
  template <typename F>
  static void for_copies(int number, int count, const F& f) {
    for (int copy = 0; copy < count; ++copy) f(id_of(number, copy));
  }

  void SetUp() override {
    put(9, 2, {12, 12, 12});
    put(2, 7, {8, 12, 9});
    put(3, 7, {10, 8, 6});
    put(1, 6, {7, 1, 5});
    put(6, 10, {5, 6, 3});  // six of them fill the leaf in the load and are erased
    put(5, 8, {4, 3, 5});
    put(4, 7, {0, 1, 1});
    put(10, 1, {0, 0, 0});
    writer_ = std::make_unique<TreeWriter>(load_tree(rows_, {.num_partitions = 1}));
    ChangeMaker batch(rows_);
    for (int copy = 4; copy < 10; ++copy) batch.erase(id_of(6, copy));
    apply(batch);
  }
  void put(int number, int count, const ModelRow& row) {
    for_copies(number, count, [&](std::int64_t id) { rows_[id] = row; });
  }
  void insert(int number, int count, const ModelRow& row) {
    ChangeMaker batch(rows_);
    for_copies(number, count, [&](std::int64_t id) { batch.upsert(id, row); });
    apply(batch);
  }
  void erase(int number, int count) {
    ChangeMaker batch(rows_);
    for_copies(number, count, [&](std::int64_t id) { batch.erase(id); });
    apply(batch);
  }
  // Also compares every engine's answer, and the thresholds of later leaves, with brute force.
  void apply(const ChangeMaker& batch) {
    writer_->apply(batch.make(3, false));
    batch.apply_to(rows_);
    now_ = writer_->finish_version(writer_->current().version);
    EXPECT_EQ(fault_in(*now_, rows_), "");
    for (const ModelRow& weights :
         {ModelRow{0, 0, 1}, ModelRow{1, 1, 1}, ModelRow{1, 0, 0}, ModelRow{0, 1, 2}, ModelRow{1, 0, -1}})
      for (std::size_t k = 1; k <= rows_.size(); ++k) {
        SearchStats stats;
        const std::vector<Hit> found =
            cpu::search_gta(*now_, resolve({.weights = weights, .k = k}, *now_), stats);
        EXPECT_EQ(difference(found, best_of(weights, k)), "") << "k " << k;
      }
  }
  std::vector<Answer> best_of(const ModelRow& weights, std::size_t k) const {
    std::vector<Answer> answers;
    for (const auto& [id, row] : rows_)
      answers.push_back({id, weights[0] * row[0] + weights[1] * row[1] + weights[2] * row[2]});
    std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    });
    answers.resize(k);
    return answers;
  }

  // How often each row is in a leaf.
  std::map<ModelRow, int> leaf(std::size_t position) const {
    const std::uint32_t leaf = now_->order().leaves.at(position);
    std::map<ModelRow, int> rows;
    for (std::uint32_t r = 0; r < now_->leaf(leaf).num_rows; ++r) ++rows[rows_.at(now_->leaf_ids(leaf)[r])];
    return rows;
  }
  ModelRow threshold(std::size_t position) const {
    const float* maxima = now_->thresholds().maximum<float>(position);
    return {maxima[0], maxima[1], maxima[2]};
  }

  const ModelRow t01{7, 1, 5}, t03{10, 8, 6}, t05{4, 3, 5}, t06{5, 6, 3}, t07{6, 5, 5}, t08{5, 4, 6};
  Rows rows_;
  std::unique_ptr<TreeWriter> writer_;
  std::shared_ptr<const Snapshot> now_;
};

TEST_F(PaperTest, LeavesAreThoseBeforeTheInsertion) {
  EXPECT_EQ(now_->num_leaves, 3u);
  EXPECT_EQ(leaf(1), (std::map<ModelRow, int>{{t01, 6}, {t06, 4}}));
  EXPECT_EQ(threshold(0), (ModelRow{7, 6, 5}));
  EXPECT_EQ(threshold(1), (ModelRow{4, 3, 5}));
}

TEST_F(PaperTest, InsertionSplitsTheLeafAndRaisesEarlierThresholds) {
  insert(7, 3, t07);
  EXPECT_EQ(now_->num_leaves, 3u);
  EXPECT_EQ(leaf(1), (std::map<ModelRow, int>{{t01, 6}, {t07, 3}, {t06, 4}}));
  EXPECT_EQ(threshold(0), (ModelRow{7, 6, 5}));
  insert(8, 5, t08);
  EXPECT_EQ(now_->num_leaves, 4u);
  EXPECT_EQ(leaf(1), (std::map<ModelRow, int>{{t03, 4}, {t01, 6}, {t07, 3}}));
  EXPECT_EQ(leaf(2), (std::map<ModelRow, int>{{t08, 5}, {t06, 4}, {t05, 3}}));
  EXPECT_EQ(threshold(0), (ModelRow{10, 8, 6}));
  EXPECT_EQ(threshold(1), (ModelRow{5, 6, 6}));
  EXPECT_EQ(threshold(2), (ModelRow{4, 3, 5}));
}

TEST_F(PaperTest, InsertionRaisesTheThresholdsOfEarlierLeaves) {
  erase(1, 3);
  insert(8, 5, t08);
  EXPECT_EQ(now_->num_leaves, 3u);
  EXPECT_EQ(threshold(0), (ModelRow{7, 6, 6}));  // the paper leaves 5 there, which t08 exceeds
}

TEST_F(PaperTest, DeletionMergesTheLeafThatIsLeft) {
  insert(7, 3, t07);
  insert(8, 5, t08);
  ChangeMaker batch(rows_);
  for_copies(1, 6, [&](std::int64_t id) { batch.erase(id); });
  for_copies(6, 4, [&](std::int64_t id) { batch.erase(id); });
  apply(batch);
  EXPECT_EQ(now_->num_leaves, 3u);
  EXPECT_EQ(leaf(1), (std::map<ModelRow, int>{{t03, 3}, {t07, 3}, {t08, 5}, {t05, 3}}));
  EXPECT_EQ(threshold(1), (ModelRow{4, 3, 5}));  // of the last merged leaf
  const ModelRow first = threshold(0);
  EXPECT_TRUE(first[0] >= 10 && first[1] >= 8 && first[2] >= 6);
}

}  // namespace
}  // namespace culmen::test
