// Which filters leave few ids, and which.
#include "query/few_ids.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "index/build/bulk_load.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t kMostIds = 32;
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

FewIds ids_left_by(const Filter& filter) {
  static const std::shared_ptr<const Snapshot> snapshot = [] {
    Random random(1);
    return bulk_load(random_table(random, ValueClass::uniform_f32, 500, 2).view(), {});
  }();
  return few_ids_of(compile_filter(filter, *snapshot), kMostIds);
}

Ids first_ids(std::int64_t count) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  return ids;
}

Filter in(const Ids& ids) {
  return id_col().in(std::vector<Literal>(ids.begin(), ids.end()));
}

const Filter kCheap = col(0) < 0.5;

TEST(FewIds, AreThoseOfAListOrASetOrARange) {
  EXPECT_EQ(ids_left_by(id_col() == 7), Ids{7});
  EXPECT_EQ(ids_left_by(in({9, -3, 9, 4})), (Ids{-3, 4, 9}));
  EXPECT_EQ(ids_left_by(id_col().between(5, 8)), (Ids{5, 6, 7, 8}));
  EXPECT_EQ(ids_left_by(id_col() > kMost - 2), (Ids{kMost - 1, kMost}));
  EXPECT_EQ(ids_left_by(id_col() < kLeast + 2), (Ids{kLeast, kLeast + 1}));
  EXPECT_EQ(ids_left_by(Filter::ids_in(IdSet(Ids{8, kMost, kLeast}))), (Ids{kLeast, 8, kMost}));
  EXPECT_EQ(ids_left_by(!(id_col() != 7)), Ids{7});
}

TEST(FewIds, AreAtMostSoMany) {
  EXPECT_EQ(ids_left_by(in(first_ids(kMostIds))), first_ids(kMostIds));
  EXPECT_EQ(ids_left_by(in(first_ids(kMostIds + 1))), std::nullopt);
  EXPECT_EQ(ids_left_by(Filter::ids_in(IdSet(first_ids(kMostIds)))), first_ids(kMostIds));
  EXPECT_EQ(ids_left_by(Filter::ids_in(IdSet(first_ids(kMostIds + 1)))), std::nullopt);
  Ids apart = first_ids(kMostIds + 1);
  for (std::int64_t& id : apart) id *= 2;
  EXPECT_EQ(ids_left_by(in(apart)), std::nullopt);
  apart.pop_back();
  EXPECT_EQ(ids_left_by(in(apart)), apart);
  EXPECT_EQ(ids_left_by(in(first_ids(kMostIds)) || id_col() == -1), std::nullopt);
  EXPECT_EQ(ids_left_by(in(first_ids(kMostIds - 1)) || Filter::ids_in(IdSet(Ids{70, 71}))), std::nullopt);
}

TEST(FewIds, AreLeftByOneOfSeveralConditionsOrByAllAlternatives) {
  const Filter set = Filter::ids_in(IdSet(Ids{3, 5}));
  EXPECT_EQ(ids_left_by(id_col() == 7 && kCheap), Ids{7});
  EXPECT_EQ(ids_left_by(kCheap && in({3, 5, 9}) && set), (Ids{3, 5}));
  EXPECT_EQ(ids_left_by((id_col() == 7 && kCheap) || (set && !kCheap)), (Ids{3, 5, 7}));
  EXPECT_EQ(ids_left_by((id_col() == 5 && kCheap) || (set && !kCheap)), (Ids{3, 5}));
  EXPECT_EQ(ids_left_by(id_col() == 7 || kCheap), std::nullopt);
  EXPECT_EQ(ids_left_by((id_col() == 7 || kCheap) && set), (Ids{3, 5}));
}

// A search for few rows finds them soon among many ids.
TEST(FewIds, OfAQueryAreMoreWhereItAsksForMoreRows) {
  for (const auto& [k, most] :
       {std::pair<std::size_t, std::int64_t>{1, 32}, {2, 64}, {8, 256}, {9, 256}, {~std::size_t{0}, 256}})
    for (const std::int64_t count : {most, most + 1}) {
      ResolvedQuery query;
      query.k = k;
      query.filter = {.kind = Predicate::Kind::id, .keys = {{1, count}}};
      EXPECT_EQ(few_ids_of(query).has_value(), count == most) << k;
    }
}

TEST(FewIds, AreNotLeftWhereOthersPass) {
  EXPECT_EQ(ids_left_by(Filter()), std::nullopt);
  EXPECT_EQ(ids_left_by(kCheap), std::nullopt);
  EXPECT_EQ(ids_left_by(!in({3, 5})), std::nullopt);
  EXPECT_EQ(ids_left_by(!Filter::ids_in(IdSet(Ids{3, 5}))), std::nullopt);
  EXPECT_EQ(ids_left_by(id_col() != 3), std::nullopt);
  EXPECT_EQ(ids_left_by(id_col() <= 3), std::nullopt);
}

}  // namespace
}  // namespace culmen::test
