// Searches of trees that no valid index has: they end with an answer or an error, and access no memory out of bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "api/device_index.h"
#include "culmen/error.h"
#include "index/tree_height.h"
#include "tests/cases.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/gpu/search/damaged_tree.h"

namespace culmen::test {
namespace {

class TallTrees : public testing::Test {
 protected:
  TallTrees() : table_(make_table()) {}

  static Table make_table() {
    Random random(34);
    return random_table(random, ValueClass::anticorrelated, 3000, 4);
  }
  std::shared_ptr<const Published> tree(int height) const {
    return std::make_shared<Published>(tall_tree(table_.view(), {.leaf_rows = 16}, height));
  }

  Table table_;
};

TEST_F(TallTrees, AreSearchedUpToTheTallestThatThereCanBe) {
  SKIP_WITHOUT_GPU();
  const Oracle oracle(table_.view(), false);
  Random random(35);
  std::vector<Query> queries;
  while (queries.size() < std::min<std::uint64_t>(100, num_cases(100))) {
    const Query query = {.weights = random_weights(random, 4), .k = 20};
    if (!oracle.refuses(query)) queries.push_back(query);
  }
  for (int height = 3; height <= kMaxLevels; ++height) {
    const DeviceIndex index = make_device_index(tree(height), {});
    const std::vector<SearchResult> batch = index.search(queries);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const std::vector<Answer> expected = oracle.search(queries[q]);
      ASSERT_EQ(difference(batch[q].hits, expected), "") << height << " levels, " << describe(queries[q]);
      for (const Engine engine : kDeviceEngines)
        ASSERT_EQ(difference(index.search(queries[q], {.engine = engine}).hits, expected), "")
            << height << " levels, " << engine_name(engine) << ", " << describe(queries[q]);
    }
  }
}

TEST_F(TallTrees, ThatNoIndexHasAreRefused) {
  SKIP_WITHOUT_GPU();
  for (const int height : {kMaxLevels + 1, 20, 64})
    EXPECT_THROW(make_device_index(tree(height), {}), FormatError) << height;
}

// More rows share the best score and the id than any list can hold.
TEST(RepeatedIds, EndInRowsOfTheBestScore) {
  SKIP_WITHOUT_GPU();
  constexpr std::int64_t kId = 7;
  for (const std::size_t num_rows : {400, 1500, 5000, 20'000, 1'500'000}) {
    if (num_rows > 3000 * num_cases(5000)) continue;  // a sanitizer has asked for few
    const std::vector<float> values(num_rows, 2.0f);
    TableView table;
    table.num_rows = num_rows;
    table.attributes = {{"a"}};
    table.columns = {ColumnView(values)};
    const auto published = std::make_shared<Published>(tree_of_one_id(table, kId));
    const std::uint64_t num_slots =
        published->get()->leaf_slots * static_cast<std::uint64_t>(published->get()->leaf_rows);
    const DeviceIndex index = make_device_index(published, {});
    for (const std::size_t k : {1, 10, 300, 1000})
      for (const Engine engine : kDeviceEngines) {
        const Query query = {.weights = {3}, .k = std::min(k, num_rows)};
        const std::vector<Hit> hits = index.search(query, {.engine = engine}).hits;
        ASSERT_EQ(hits.size(), query.k);
        EXPECT_EQ(hits[0].id, kId) << engine_name(engine) << ", " << num_rows << " rows";
        EXPECT_EQ(hits[0].score, 6.0) << engine_name(engine) << ", " << num_rows << " rows";
        for (const Hit& hit : hits) ASSERT_LT(hit.row, num_slots) << engine_name(engine) << ", " << num_rows;
      }
  }
}

}  // namespace
}  // namespace culmen::test
