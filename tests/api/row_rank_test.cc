// The row that rank_of asks about, found without a search where a version knows its rows by their ids.
#include "api/row_rank.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "culmen/index.h"
#include "tests/generators.h"
#include "tests/harness.h"
#include "tests/sku_rows.h"

namespace culmen::test {
namespace {

TEST(RowOfARank, IsFoundWhereTheVersionWasReadFromFiles) {
  Random random(31);
  const Table table = random_table(random, ValueClass::small_integers, 3000, 3);
  const TemporaryDirectory directory;
  const Index built = Index::build(table.view());
  built.save(directory.path() / "index");
  const Index opened = Index::open(directory.path() / "index");
  const Query query = {.weights = {1, -1, 0.5}, .k = 7, .where = col(0) >= 1, .min_score = 0};
  const Query all = {.weights = query.weights, .k = 3000};
  std::uint64_t num_found = 0;
  for (const Hit& hit : built.search(all).hits) {
    const Query only = only_row(query, is_id(hit.id, *version_of(opened)));
    const std::optional<std::vector<Hit>> found = hits_without_search(*version_of(opened), only);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, opened.search(only).hits) << "id " << hit.id;
    num_found += found->size();
  }
  EXPECT_GT(num_found, 0U);
  EXPECT_LT(num_found, 3000U);
  const Query none = only_row(query, is_id(std::int64_t{1} << 60, *version_of(opened)));
  EXPECT_EQ(hits_without_search(*version_of(opened), none), std::vector<Hit>());
  EXPECT_FALSE(hits_without_search(*version_of(built), only_row(query, is_id(5, *version_of(built)))));
}

TEST(RowOfARank, IsFoundByItsText) {
  Random random(32);
  const Skus rows = random_skus(random, 400);
  const Index index = Index::build(SkuTable(rows, random).view());
  const Snapshot& version = *version_of(index);
  const Query query = {.weights = {1, -1}};
  for (const auto& [text, values] : rows) {
    const Query only = only_row(query, is_id(text, version));
    static_cast<void>(index.search(only));  // puts the texts in order
    const std::optional<std::vector<Hit>> found = hits_without_search(version, only);
    EXPECT_TRUE(!found || *found == index.search(only).hits) << text;
  }
  EXPECT_EQ(hits_without_search(version, only_row(query, is_id("no such text", version))),
            std::vector<Hit>());
}

}  // namespace
}  // namespace culmen::test
