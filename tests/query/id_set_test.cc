// Sets of ids: what they hold, however they were made, and their bytes, also those of others and of nobody.
#include "culmen/id_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "culmen/error.h"
#include "culmen/filter.h"
#include "query/id_bitmap.h"
#include "tests/cases.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

using IdList = std::vector<std::int64_t>;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kGroup = std::int64_t{1} << 32;

std::int64_t random_id(Random& random, int kind, std::int64_t base) {
  switch (kind) {
    case 0:
      return static_cast<std::int64_t>(random.next());
    case 1:  // dense
      return base + static_cast<std::int64_t>(random.below(20'000));
    case 2:  // over the edges of groups
      return random.between(-2, 2) * kGroup + random.between(-100, 100);
    case 3:
      return random.pick({kMin, kMin + 1, std::int64_t{-1}, std::int64_t{0}, kMax - 1, kMax});
    default:  // runs
      return base + 1000 * random.between(0, 50) + random.between(0, 700);
  }
}

IdList random_ids(Random& random) {
  const int kind = random.between(0, 5);
  const auto base = static_cast<std::int64_t>(random.next() >> random.below(60));
  IdList ids;
  for (std::uint64_t left = random.below(random.pick<std::uint64_t>({3, 100, 5000, 100'000})); left > 0;
       --left)
    ids.push_back(random_id(random, kind < 5 ? kind : random.between(0, 4), base < kMax / 2 ? base : 0));
  if (random.chance(0.3)) std::ranges::sort(ids);
  return ids;
}

Intervals<std::int64_t> rows_of(const std::set<std::int64_t>& ids) {
  Intervals<std::int64_t> rows;
  for (const std::int64_t id : ids) {
    if (!rows.empty() && rows.back().maximum == id - 1) {
      rows.back().maximum = id;
    } else {
      rows.push_back({id, id});
    }
  }
  return rows;
}

// ids: those asked about besides the members and their neighbours.
void expect_members(const IdSet& set, const std::set<std::int64_t>& wanted, const IdList& others) {
  ASSERT_EQ(set.size(), wanted.size());
  ASSERT_EQ(set.empty(), wanted.empty());
  ASSERT_TRUE(std::ranges::equal(set.ids(), wanted));
  ASSERT_EQ(set.bitmap().intervals(), rows_of(wanted));
  IdList asked = others;
  for (const std::int64_t id : wanted) {
    asked.push_back(id);
    if (id != kMin) asked.push_back(id - 1);
    if (id != kMax) asked.push_back(id + 1);
  }
  std::vector<std::uint64_t> mask((asked.size() + 63) / 64, ~std::uint64_t{0});
  set.bitmap().write_mask(asked, mask.data());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const bool is_member = wanted.contains(asked[i]);
    ASSERT_EQ(set.contains(asked[i]), is_member) << asked[i];
    ASSERT_EQ((mask[i / 64] >> i % 64 & 1) != 0, is_member) << asked[i];
  }
  if (asked.size() % 64 != 0) {
    ASSERT_EQ(mask.back() >> asked.size() % 64, 0U);
  }
  if (wanted.empty()) return;
  ASSERT_EQ(set.bitmap().minimum(), *wanted.begin());
  ASSERT_EQ(set.bitmap().maximum(), *wanted.rbegin());
}

TEST(IdSets, HoldTheIdsThatTheyWereMadeOf) {
  for (std::uint64_t trial = 0; trial < num_cases(20'000) / 100; ++trial) {
    Random random(trial + 1);
    const IdList ids = random_ids(random);
    const std::set<std::int64_t> wanted(ids.begin(), ids.end());
    const IdSet set(ids);
    ASSERT_NO_FATAL_FAILURE(expect_members(set, wanted, random_ids(random))) << "trial " << trial;
    const IdSet read = IdSet::from_bytes(set.to_bytes());
    ASSERT_NO_FATAL_FAILURE(expect_members(read, wanted, {})) << "trial " << trial;
    ASSERT_EQ(read, set);
    ASSERT_EQ(read.to_bytes(), set.to_bytes());
    IdList fewer(ids);
    if (!fewer.empty()) {
      std::erase(fewer, fewer.back());
      ASSERT_FALSE(IdSet(fewer) == set);
    }
  }
}

TEST(IdSets, HoldTheIdsOfRanges) {
  for (std::uint64_t trial = 0; trial < num_cases(20'000) / 200; ++trial) {
    Random random(trial + 1);
    std::vector<IdRange> ranges;
    std::set<std::int64_t> wanted;
    for (std::uint64_t left = random.below(20); left > 0; --left) {
      const std::int64_t first =
          random.pick({std::int64_t{0}, kGroup, -kGroup, 3 * kGroup, kMin, kMax - 2000}) +
          (random.chance(0.5) ? 0 : static_cast<std::int64_t>(random.below(1000)));
      const IdRange range{first, first + static_cast<std::int64_t>(random.below(1000))};
      ranges.push_back(range);
      for (std::int64_t id = range.first; id <= range.last; ++id) wanted.insert(id);
    }
    ASSERT_NO_FATAL_FAILURE(expect_members(IdSet::of_ranges(ranges), wanted, {})) << "trial " << trial;
    ASSERT_EQ(IdSet::of_ranges(ranges), IdSet(IdList(wanted.begin(), wanted.end())));
  }
}

TEST(IdSets, TakeRangesOverManyGroups) {
  const IdRange wide{-kGroup - 5, 2 * kGroup + 5};
  const IdSet set = IdSet::of_ranges(std::vector{wide, IdRange{3 * kGroup, 3 * kGroup}});
  EXPECT_EQ(set.size(), 3 * static_cast<std::uint64_t>(kGroup) + 12);
  for (const std::int64_t id : {wide.first, std::int64_t{-1}, std::int64_t{0}, kGroup, wide.last, 3 * kGroup})
    EXPECT_TRUE(set.contains(id)) << id;
  for (const std::int64_t id : {wide.first - 1, wide.last + 1, 3 * kGroup - 1, 3 * kGroup + 1, kMin, kMax})
    EXPECT_FALSE(set.contains(id)) << id;
  EXPECT_EQ(IdSet::from_bytes(set.to_bytes()), set);
  EXPECT_EQ(set.bitmap().intervals(),
            (Intervals<std::int64_t>{{wide.first, wide.last}, {3 * kGroup, 3 * kGroup}}));
}

TEST(IdSets, RefuseRangesThatHoldNoIdOrTooMany) {
  const auto of = [](std::vector<IdRange> ranges) { return IdSet::of_ranges(ranges); };
  EXPECT_THROW(of({{1, 0}}), InvalidArgument);
  EXPECT_THROW(of({{kMin, kMax}}), InvalidArgument);
  EXPECT_THROW(of({{0, static_cast<std::int64_t>(IdSet::kMaxIdsOfRanges)}}), InvalidArgument);
  EXPECT_THROW(of({{0, static_cast<std::int64_t>(IdSet::kMaxIdsOfRanges) - 1}, {-1, -1}}), InvalidArgument);
}

std::vector<std::byte> bytes_of(std::string_view hexadecimal) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hexadecimal.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hexadecimal.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// What pyroaring's BitMap64 writes.
TEST(IdSets, ReadAndWriteTheBytesOfOthers) {
  const std::vector<std::byte> three = bytes_of(
      "0200000000000000"
      "00000000"
      "3a30000001000000"
      "00000100"
      "10000000"
      "01000200"
      "00010000"
      "3a30000001000000"
      "00000000"
      "10000000"
      "0500");
  const IdList ids = {1, 2, (std::int64_t{1} << 40) + 5};
  EXPECT_EQ(IdSet::from_bytes(three).ids(), ids);
  EXPECT_EQ(IdSet(ids).to_bytes(), three);
  const std::vector<std::byte> runs = bytes_of(
      "0100000000000000"
      "00000000"
      "3b300200"
      "07"
      "01005f790200ffff03003f0d"
      "0100a0865f79"
      "01000000ffff"
      "010000003f0d");
  const IdSet range = IdSet::of_ranges(std::vector{IdRange{100'000, 199'999}});
  EXPECT_EQ(IdSet::from_bytes(runs), range);
  EXPECT_EQ(range.to_bytes(), runs);
}

TEST(IdSets, TakeNumbersFrom2To63OnForNegativeIds) {
  const std::vector<std::byte> bytes = bytes_of(
      "0100000000000000"
      "ffffffff"
      "3a30000001000000"
      "ffff0000"
      "10000000"
      "ffff");
  const IdSet set = IdSet::from_bytes(bytes);
  EXPECT_EQ(set.ids(), IdList{-1});
  EXPECT_EQ(set.to_bytes(), bytes);
}

// Every beginning, and every byte changed: an error, or a set that is what its bytes say.
TEST(IdSets, ReadAnyBytes) {
  IdList ids = {-1, 5, kMin, kMax};
  for (std::int64_t id = 0; id < 5000; ++id) ids.push_back(kGroup + 13 * id);             // arrays
  for (std::int64_t id = 0; id < 6000; ++id) ids.push_back(7 * kGroup + 2 * id);          // a bitset
  for (std::int64_t id = 0; id < 6000; ++id) ids.push_back(-kGroup + id / 50 * 60 + id);  // runs
  const std::vector<std::byte> whole = IdSet(ids).to_bytes();
  std::uint64_t read = 0, refused = 0;
  const auto check = [&](const std::vector<std::byte>& bytes) {
    try {
      const IdSet set = IdSet::from_bytes(bytes);
      const IdList found = set.ids();
      ASSERT_TRUE(std::ranges::is_sorted(found, std::less_equal()) || found.size() < 2);
      ASSERT_EQ(set.size(), found.size());
      for (std::size_t i = 0; i < found.size(); i += 97) ASSERT_TRUE(set.contains(found[i]));
      ASSERT_EQ(IdSet::from_bytes(set.to_bytes()), set);
      ++read;
    } catch (const FormatError& error) {
      ASSERT_NE(std::string(error.what()).find("byte "), std::string::npos);
      ++refused;
    }
  };
  for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 37)
    ASSERT_NO_FATAL_FAILURE(check({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}));
  EXPECT_EQ(read, 0U);
  Random random(1);
  for (std::uint64_t trial = 0; trial < num_cases(20'000) / 10; ++trial) {
    std::vector<std::byte> bytes = whole;
    for (std::uint64_t changes = 1 + random.below(2); changes > 0; --changes)
      bytes[random.below(random.chance(0.5) ? 120 : bytes.size())] =
          static_cast<std::byte>(random.below(256));
    ASSERT_NO_FATAL_FAILURE(check(bytes)) << "trial " << trial;
  }
  EXPECT_GT(read, 0U);
  EXPECT_GT(refused, 100U);
}

TEST(IdSets, AreConditionsOfFilters) {
  const IdSet set(IdList{3, 1, 2, 3});
  const Filter filter = Filter::ids_in(set);
  EXPECT_EQ(filter.kind(), Filter::Kind::id_set);
  EXPECT_EQ(filter.ids(), set);
  EXPECT_EQ(&filter.ids().bitmap(), &set.bitmap());  // shared
  EXPECT_EQ(&(!filter && filter).parts()[1].ids().bitmap(), &set.bitmap());
  EXPECT_EQ(filter.num_conditions(), 1U);
  EXPECT_EQ(filter.text(), "id in {3 ids}");
  EXPECT_EQ((!filter || col("price") < 5).text(), "not id in {3 ids} or price < 5");
  EXPECT_EQ(Filter::ids_in(IdSet(IdList{7})).text(), "id in {1 id}");
  EXPECT_EQ(filter, Filter::ids_in(IdSet(IdList{1, 2, 3})));
  EXPECT_FALSE(filter == Filter::ids_in(IdSet(IdList{1, 2})));
  EXPECT_FALSE(filter == (id_col() == 1));
  EXPECT_THROW(static_cast<void>(filter.condition()), InvalidArgument);
  EXPECT_THROW(static_cast<void>((id_col() == 1).ids()), InvalidArgument);
  EXPECT_TRUE(filter.parts().empty());
}

}  // namespace
}  // namespace culmen::test
