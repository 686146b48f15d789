#include "gpu/group/merge_hits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "culmen/search.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

bool is_before(const Hit& a, const Hit& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

std::vector<Hit> merged(const std::vector<std::vector<Hit>>& lists, std::size_t most) {
  std::vector<std::size_t> sizes, next(lists.size(), 99);
  for (const std::vector<Hit>& list : lists) sizes.push_back(list.size());
  std::vector<Hit> all;
  gpu::merge_hits(
      sizes, most, next, [&](std::size_t list, std::size_t rank) { return lists[list][rank].score; },
      [&](std::size_t list, std::size_t rank) { return lists[list][rank].id; },
      [&](std::size_t list, std::size_t rank) { all.push_back(lists[list][rank]); });
  return all;
}

TEST(MergeHits, TakesTheBestOfAllLists) {
  Random random(91);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<std::vector<Hit>> lists(1 + random.below(8));
    std::vector<Hit> all;
    for (std::int64_t id = 0; id < static_cast<std::int64_t>(random.below(60)); ++id) {
      const double score = random.pick({0.0, -0.0, 1.0, 2.5, -kInfinity});  // ties across lists
      all.push_back({id, score, static_cast<std::uint64_t>(id)});
      lists[random.below(lists.size())].push_back(all.back());
    }
    std::ranges::sort(all, is_before);
    for (std::vector<Hit>& list : lists) std::ranges::sort(list, is_before);
    for (const std::size_t most :
         {std::size_t{0}, std::size_t{1}, std::size_t{7}, all.size(), all.size() + 5}) {
      const std::vector<Hit> best(all.begin(),
                                  all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size())));
      ASSERT_EQ(merged(lists, most), best) << lists.size() << " lists, " << most;
    }
  }
}

}  // namespace
}  // namespace culmen::test
