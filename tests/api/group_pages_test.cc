// Groups by searches that cannot count: the pages of a search that only leaves out rows, beside Query::per of the CPU.
#include "api/group_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "culmen/index.h"
#include "query/resolve.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

// As a device answers a page.
class PlainSearch {
 public:
  explicit PlainSearch(const Index& index) : index_(index) {}

  SearchResult operator()(const Query& page, const std::vector<GroupKey>& full) {
    ++num_pages_;
    EXPECT_TRUE(std::ranges::is_sorted(full));
    Query whole = page;
    whole.per.reset();
    whole.k = std::max<std::size_t>(index_.info().num_rows, 1);
    SearchResult result = index_.search(whole);
    const ResolvedGroups groups = *resolve(page, *result.snapshot).groups;
    std::erase_if(result.hits, [&](const Hit& hit) {
      return std::ranges::binary_search(full, groups.of(*result.snapshot, hit.row));
    });
    if (page.k && result.hits.size() > *page.k) result.hits.resize(*page.k);
    return result;
  }

  std::size_t num_pages() const { return num_pages_; }

 private:
  const Index& index_;
  std::size_t num_pages_ = 0;
};

void expect_answers_of_per(const Index& index, const Query& query) {
  PlainSearch search(index);
  const SearchResult expected = index.search(query);
  const SearchResult found = search_by_pages(
      query, *expected.snapshot,
      [&](const Query& page, const std::vector<GroupKey>& full) { return search(page, full); });
  EXPECT_EQ(found.hits, expected.hits) << describe(query);
}

// Columns of whole numbers: x and y, of which many tie, and the group.
Index index_of_groups(Random& random, const std::vector<double>& groups) {
  std::vector<double> x, y;
  for (std::size_t row = 0; row < groups.size(); ++row) {
    x.push_back(random.between(-9, 9));
    y.push_back(random.between(-9, 9));
  }
  TableView table;
  table.num_rows = groups.size();
  table.attributes = {{"x"}, {"y"}, {"group"}};
  table.columns = {x, y, groups};
  return Index::build(table);
}

TEST(GroupPages, AreTheAnswerOfPer) {
  Random random(1);
  for (int t = 0; t < 60; ++t) {
    std::vector<double> groups(1 + random.below(3000));
    const std::uint64_t num_groups = 1 + random.below(300);
    for (double& group : groups) group = static_cast<double>(random.below(num_groups)) - 100;
    const Index index = index_of_groups(random, groups);
    for (int q = 0; q < 6; ++q) {
      Query query = {.weights = {random.uniform(-1, 1), random.uniform(-1, 1), 0},
                     .k = random.pick<std::size_t>({1, 10, 100, 5000}),
                     .per = RowsPer{"group", 1 + random.below(4)}};
      if (random.chance(0.5)) query.weights[2] = random.uniform(-5, 5);
      if (random.chance(0.3)) {
        query.min_score = random.uniform(-3, 3);
        if (random.chance(0.5)) query.k.reset();
      }
      if (random.chance(0.4)) {
        const std::vector<Hit> hits = index.search(query).hits;
        if (!hits.empty()) {
          const Hit& at = hits[random.below(hits.size())];
          query.after = Cursor{at.score, at.id + random.between(-1, 1), {}};
        }
      }
      expect_answers_of_per(index, query);
    }
  }
}

// Each group before the next: a page after which one more is full.
TEST(GroupPages, OfGroupsOneAfterTheOtherAreMany) {
  constexpr std::size_t kGroups = 90, kRows = 2000 * kGroups;
  Random random(2);
  std::vector<double> groups;
  for (std::size_t row = 0; row < kRows; ++row) groups.push_back(static_cast<double>(row / 2000));
  const Index index = index_of_groups(random, groups);
  const Query query = {.weights = {0, 0, 1}, .k = kGroups, .per = RowsPer{"group", 1}};
  PlainSearch search(index);
  const SearchResult expected = index.search(query);
  const SearchResult found = search_by_pages(
      query, *expected.snapshot,
      [&](const Query& page, const std::vector<GroupKey>& full) { return search(page, full); });
  EXPECT_EQ(found.hits, expected.hits);
  EXPECT_EQ(found.hits.size(), kGroups);
  EXPECT_GT(search.num_pages(), kGroups - 5);
  EXPECT_LE(search.num_pages(), kGroups);
}

}  // namespace
}  // namespace culmen::test
