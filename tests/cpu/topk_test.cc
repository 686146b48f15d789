// The two top-k collections of one thread, while other threads raise the k-th score bound.
#include "cpu/topk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/buffered_topk.h"
#include "cpu/parallel_topk.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

constexpr double kAnyScore = -std::numeric_limits<double>::infinity();

template <typename Best>
class Collections : public testing::Test {};
using Kinds = testing::Types<TopK, BufferedTopK>;
TYPED_TEST_SUITE(Collections, Kinds);

// Of one thread there are 3 with a score of 1, the best of them id 7; others have 3 that reach 2.
template <typename Best>
Best with_a_raised_kth_bound() {
  Best best(3, kAnyScore);
  for (const std::int64_t id : {9, 8, 7, 12, 11, 10}) best.offer({id, 1, 0});
  best.raise_kth_bound(2);
  return best;
}

TYPED_TEST(Collections, ExcludeWhatIsBelowTheRaisedFloorAndNothingThatTiesWithIt) {
  const auto best = with_a_raised_kth_bound<TypeParam>();
  EXPECT_EQ(best.kth_bound(), 2);
  EXPECT_TRUE(best.excludes(1.5, 0));
  EXPECT_FALSE(best.excludes(2, 1000)) << "which ids tie at 2 is not known here";
  EXPECT_FALSE(best.excludes(3, 0));
}

TYPED_TEST(Collections, KeepTheirOwnFloorWhereOthersHaveALowerOne) {
  auto best = TypeParam(3, kAnyScore);
  for (const std::int64_t id : {9, 8, 7, 12, 11, 10}) best.offer({id, 1, 0});
  best.raise_kth_bound(0.5);
  EXPECT_EQ(best.kth_bound(), 1);
  EXPECT_TRUE(best.excludes(1, 9));
  EXPECT_FALSE(best.excludes(1, 8));
}

// Shares of the rows, as threads process them, in turns.
TYPED_TEST(Collections, ThatShareAFloorHaveTheBestOfAllBetweenThem) {
  Random random(51);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t k = 1 + random.below(20), num_threads = 1 + random.below(5);
    SharedKthBound kth_bound;
    const Predicate everything;
    std::vector<PrivateSearch<TypeParam>> threads;
    for (std::size_t t = 0; t < num_threads; ++t)
      threads.push_back(
          PrivateSearch<TypeParam>{TypeParam(k, kAnyScore), LeafFilter(everything), kth_bound, {}});
    std::vector<Hit> all;
    for (std::int64_t id = 0; id < 300; ++id) {
      const Hit hit = {(id * 101) % 307, static_cast<double>(random.below(40)), 0};
      all.push_back(hit);
      PrivateSearch<TypeParam>& mine = threads[random.below(num_threads)];
      mine.share_kth_bound();
      if (!mine.best.excludes(hit.score, hit.id)) mine.best.offer(hit);
    }
    std::sort(all.begin(), all.end(), ranks_before);
    all.resize(k);
    TypeParam merged(k, kAnyScore);
    for (PrivateSearch<TypeParam>& thread : threads) merged.add(thread.best);
    EXPECT_EQ(merged.take_sorted(), all) << "k " << k << ", " << num_threads << " threads";
  }
}

}  // namespace
}  // namespace culmen::test
