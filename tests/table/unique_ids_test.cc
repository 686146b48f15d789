#include "table/unique_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace culmen::io {
namespace {

TEST(UniqueIds, AcceptsRisingAndShuffledIds) {
  std::vector<std::int64_t> ids(10000);
  std::iota(ids.begin(), ids.end(), -5000);
  EXPECT_FALSE(find_repeated_id(ids));
  std::shuffle(ids.begin(), ids.end(), std::mt19937_64(1));
  EXPECT_FALSE(find_repeated_id(ids));
  EXPECT_FALSE(find_repeated_id({}));
}

TEST(UniqueIds, NamesTheEarliestRepetition) {
  const std::vector<std::int64_t> ids{7, 3, 9, 1, 3, 7, 3};
  const auto repeated = find_repeated_id(ids);
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->first_row, 1u);
  EXPECT_EQ(repeated->second_row, 4u);
}

TEST(UniqueIds, AgreesWithAMapOnRandomIds) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int64_t> ids(random() % 40);
    for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() % 300) - 150;
    std::map<std::int64_t, std::size_t> first_rows;
    std::optional<RepeatedId> expected;
    for (std::size_t row = 0; row < ids.size() && !expected; ++row) {
      const auto [earlier, is_first] = first_rows.try_emplace(ids[row], row);
      if (!is_first) expected = RepeatedId{earlier->second, row};
    }
    const auto found = find_repeated_id(ids);
    ASSERT_EQ(found.has_value(), expected.has_value()) << "round " << round;
    if (!found) continue;
    EXPECT_EQ(found->first_row, expected->first_row) << "round " << round;
    EXPECT_EQ(found->second_row, expected->second_row) << "round " << round;
  }
}

}  // namespace
}  // namespace culmen::io
