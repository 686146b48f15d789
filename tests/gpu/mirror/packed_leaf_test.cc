// The rows of leaves in few bytes, as kernels read them, against the snapshot's: every bit.
#include "gpu/mirror/packed_leaf.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "index/build/bulk_load.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/gpu/mirrored_bytes.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

struct Found {
  std::uint64_t decimals = 0, bits = 0, exceptions = 0, constants = 0, bytes = 0, rows = 0;
};

template <typename T>
void expect_same_rows(const Snapshot& s, std::uint32_t slot, Found& found) {
  std::vector<std::byte> bytes;
  gpu::pack_leaf(s, slot, bytes);
  const AlignedBytes memory(bytes);  // ends with them
  const gpu::PackedLeaf leaf = {memory.get()};
  const std::uint32_t num_rows = s.leaf(slot).num_rows;
  const auto stride = static_cast<std::uint32_t>(s.leaf_rows);
  found.bytes += bytes.size();
  found.rows += num_rows;
  for (std::uint32_t row = 0; row < num_rows; ++row) ASSERT_EQ(leaf.id(row), s.leaf_ids(slot)[row]);
  for (std::uint32_t a = 0; a < s.attributes.size(); ++a) {
    const gpu::ColumnHead& head = leaf.head(gpu::kFirstAttribute + a);
    ++(head.exponent == encoding::kBits ? found.bits : found.decimals);
    found.exceptions += head.num_exceptions;
    found.constants += head.bits == 0 ? 1 : 0;
    for (std::uint32_t row = 0; row < num_rows; ++row) {
      const T expected = s.leaf_values<T>(slot)[a * stride + row], value = leaf.value<T>(a, row);
      ASSERT_EQ(std::bit_cast<encoding::BitsOf<T>>(value), std::bit_cast<encoding::BitsOf<T>>(expected))
          << "attribute " << a << ", row " << row;
    }
  }
}

TEST(PackedLeaf, HasEachBitOfEachRow) {
  Found found;
  Random random(31);
  for (std::uint64_t c = 0; c < num_cases(2000) / 20; ++c) {
    for (const ValueClass value_class : all_value_classes()) {
      const Table table = random_table(random, value_class, 1 + random.below(700), random.between(1, 12));
      const ValueType value_type = random_value_type(random, table.view());
      const std::shared_ptr<Snapshot> s = bulk_load(
          table.view(), random_build_options(random, Partitioning::kd, value_type, table.columns.size()));
      visit_value_type(*s, [&]<typename T>(T) {
        for (const std::uint32_t slot : s->order().leaves) expect_same_rows<T>(*s, slot, found);
      });
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(found.decimals, 0U);
  EXPECT_GT(found.bits, 0U);
  EXPECT_GT(found.exceptions, 0U);
  EXPECT_GT(found.constants, 0U);
}

TEST(PackedLeaf, TakesAThirdOfTheBytesOfPrices) {
  Random random(32);
  constexpr std::size_t kRows = 5000, kAttributes = 5;
  std::vector<double> prices(kRows * kAttributes);
  for (double& price : prices) price = static_cast<double>(random.below(100'000)) / 100;
  const std::vector<Attribute> attributes = {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}};
  const std::shared_ptr<Snapshot> s =
      bulk_load(row_major_table(std::span<const double>(prices), attributes), {});
  Found found;
  for (const std::uint32_t slot : s->order().leaves) expect_same_rows<double>(*s, slot, found);
  EXPECT_EQ(found.bits, 0U);
  EXPECT_LT(found.bytes, found.rows * (kAttributes + 1) * sizeof(double) * 4 / 10);
}

// quotient() promises the bits of a division; for all exponents, and numbers whose quotients are near the middle between two doubles as often as
// not.
TEST(PackedLeaf, DividesByPowersOfTen) {
  Random random(33);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 49;
  for (int exponent = 0; exponent <= gpu::kMostPackedExponent; ++exponent) {
    const double power = gpu::power_of_ten(exponent), reciprocal = 1 / power;
    ASSERT_EQ(power, encoding::kPowersOfTen[exponent]);
    for (std::uint64_t c = 0; c < num_cases(100'000); ++c) {
      const std::uint64_t most = kMost >> random.below(49);
      const double number = static_cast<double>(random.below(most + 1)) * (random.chance(0.5) ? 1 : -1);
      const double expected = number / power, found = gpu::quotient(number, power, reciprocal);
      ASSERT_EQ(found, expected) << number << " / 10^" << exponent;
    }
  }
}

}  // namespace
}  // namespace culmen::test
