#include "index/encoding/packed_column.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/simd/kernels.h"
#include "index/encoding/encode.h"
#include "tests/harness.h"

namespace culmen::encoding {
namespace {

template <typename T>
std::vector<std::byte> encoded(const std::vector<T>& values) {
  std::vector<std::byte> bytes;
  ColumnEncoder().encode(std::span<const T>(values), bytes);
  bytes.resize(bytes.size() + kReadAhead);
  return bytes;
}

template <typename T>
bool has_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Encodes, decodes in both ways, and returns the column.
template <typename T>
PackedColumn expect_same(const std::vector<T>& values, std::vector<std::byte>& bytes) {
  bytes = encoded(values);
  EXPECT_LE(bytes.size(), most_column_bytes(values.size(), sizeof(T)) + kReadAhead);
  std::span<const std::byte> rest(bytes);
  const std::optional<PackedColumn> column = take_column<T>(rest, values.size());
  EXPECT_TRUE(column);
  EXPECT_EQ(rest.size(), kReadAhead);
  std::vector<T> decoded(values.size(), T{7});
  decode_plainly(*column, decoded.data());
  EXPECT_TRUE(has_bits(decoded, values));
  static const std::vector<std::string> targets = simd::available_targets();
  for (const std::string& target : targets) {
    const test::ForcedTarget forced(target);
    decoded.assign(values.size(), T{7});
    decode(*column, decoded.data());
    EXPECT_TRUE(has_bits(decoded, values)) << target;
  }
  return *column;
}

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Kind = std::function<double(std::mt19937_64&, std::size_t row)>;

// Columns of which some forms are made for, and others must not take.
std::vector<Kind> kinds() {
  const auto below = [](std::mt19937_64& random, std::uint64_t end) {
    return static_cast<double>(random() % end);
  };
  return {
      [](auto&, std::size_t) { return 0.1; },
      [=](auto& random, std::size_t) { return below(random, 100000) / 100; },
      [=](auto& random, std::size_t) { return below(random, 900) / 10 - 30; },
      [=](auto& random, std::size_t) { return below(random, 6); },
      [=](auto& random, std::size_t) { return below(random, 1 << 20) * 1e6; },
      [=](auto& random, std::size_t) { return below(random, 1000) * 1e-20; },
      [=](auto& random, std::size_t) { return below(random, 1 << 10) * 0x1p50; },
      [=](auto& random, std::size_t row) { return static_cast<double>(row) * 3600 + below(random, 4); },
      [](auto& random, std::size_t) { return static_cast<double>(random() >> 11) * 0x1p-53; },
      [](auto& random, std::size_t) { return std::bit_cast<double>(static_cast<std::uint64_t>(random())); },
      [=](auto& random, std::size_t) {
        return random() % 9 == 0 ? below(random, 1 << 30) / 7 : below(random, 500) / 4;
      },
      [=](auto& random, std::size_t row) { return row < 3 ? 0.12345678901234567 : below(random, 50); },
      [=](auto& random, std::size_t) {
        constexpr double kOdd[] = {
            -0.0, 0.0, kMissing, kInfinity, -kInfinity, 0x1p-1074, 0x1.fffffffffffffp1023};
        return random() % 8 == 0 ? kOdd[random() % std::size(kOdd)] : below(random, 50);
      },
      [=](auto& random, std::size_t) { return random() % 2 == 0 ? 0x1p49 : -0x1p49 + below(random, 2); },
  };
}

TEST(PackedColumn, HoldsEachBitOfFloatingValues) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Kind> all = kinds();
    for (std::size_t kind = 0; kind < all.size(); ++kind)
      for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{96}, 1 + random() % 700}) {
        SCOPED_TRACE(std::to_string(seed) + ", kind " + std::to_string(kind));
        std::vector<double> values;
        while (values.size() < count) values.push_back(all[kind](random, values.size()));
        std::vector<std::byte> bytes;
        expect_same(values, bytes);
        expect_same(std::vector<float>(values.begin(), values.end()), bytes);
      }
  }
}

TEST(PackedColumn, HoldsEachBitOfIntegers) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kGreatest = std::numeric_limits<std::int64_t>::max();
  std::mt19937_64 random(1);
  for (int bits = 0; bits <= 64; ++bits)
    for (const std::size_t count : {1u, 2u, 97u, 513u}) {
      SCOPED_TRACE(bits);
      std::vector<std::int64_t> values, steps;
      for (std::size_t i = 0; i < count; ++i) {
        values.push_back(static_cast<std::int64_t>(kLeast + (random() & low_bits(bits))));
        steps.push_back(static_cast<std::int64_t>((i == 0 ? 0 : static_cast<std::uint64_t>(steps.back())) +
                                                  77777777777 + (random() & low_bits(bits / 2))));
      }
      std::vector<std::byte> bytes;
      expect_same(values, bytes);
      expect_same(steps, bytes);
    }
  std::vector<std::byte> bytes;
  expect_same(std::vector<std::int64_t>{kLeast, kGreatest, 0, -1, kGreatest, kLeast}, bytes);
}

// Exactly as long as it has to be, in the form that was made for it.
TEST(PackedColumn, TakesTheShortestForm) {
  constexpr std::size_t kHeader = 2, kFirst = 8;
  std::vector<double> prices, temperatures, days, halves, counts, any;
  std::vector<std::int64_t> ascending;
  std::mt19937_64 random(1);
  for (std::size_t row = 0; row < 96; ++row) {
    prices.push_back(static_cast<double>(10000 + row * 4095 / 95) / 100);
    temperatures.push_back((static_cast<double>(row % 64) - 30) / 10);
    days.push_back(19000 + static_cast<double>(7 * row));
    halves.push_back(row == 40 ? 1.0 / 3 : static_cast<double>(row % 2) / 2);
    counts.push_back(1e6 * static_cast<double>(row % 4));
    any.push_back(1 + static_cast<double>(random() >> 11) * 0x1p-53);
    ascending.push_back(static_cast<std::int64_t>(1000000 * row + random() % 2));
  }
  std::vector<std::byte> bytes;
  PackedColumn column = expect_same(prices, bytes);
  EXPECT_EQ(column.exponent, 2);
  column = expect_same(temperatures, bytes);
  EXPECT_EQ(column.exponent, 1);
  EXPECT_EQ(bytes.size(), kHeader + 1 + 96 * 6 / 8 + kReadAhead);
  column = expect_same(days, bytes);
  EXPECT_TRUE(column.has_deltas);
  EXPECT_EQ(bytes.size(), kHeader + 1 + kFirst + kReadAhead);
  column = expect_same(halves, bytes);
  EXPECT_EQ(column.num_exceptions, 1u);
  EXPECT_EQ(bytes.size(), kHeader + 2 + 1 + 96 * 3 / 8 + 10 + kReadAhead);  // 0 and 5 tenths
  column = expect_same(counts, bytes);
  EXPECT_EQ(column.exponent, 0);
  column = expect_same(any, bytes);
  EXPECT_TRUE(column.is_bits);
  EXPECT_EQ(column.bits, 52);
  column = expect_same(ascending, bytes);
  EXPECT_TRUE(column.has_deltas);
  EXPECT_EQ(column.bits, 2);
  expect_same(std::vector<double>(96, 0.1), bytes);
  EXPECT_EQ(bytes.size(), kHeader + 1 + kReadAhead);
}

template <typename T>
bool is_taken(std::vector<std::byte> bytes, std::size_t count) {
  std::span<const std::byte> rest(bytes);
  return take_column<T>(rest, count).has_value();
}

TEST(PackedColumn, IsRefusedIfDecodersCouldNotTakeIt) {
  std::vector<double> values;
  for (int row = 0; row < 96; ++row) values.push_back(row % 30 == 0 ? 1.0 / 7 : row % 5);
  const std::vector<std::byte> good = encoded(values);
  EXPECT_TRUE(is_taken<double>(good, 96));
  const auto with = [&good](std::size_t at, int value) {
    std::vector<std::byte> bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(is_taken<double>({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}, 96))
        << size;
  EXPECT_FALSE(is_taken<double>(good, 0));
  EXPECT_FALSE(is_taken<double>(with(0, 23), 96)) << "an exponent";
  EXPECT_FALSE(is_taken<double>(with(0, 31), 96)) << "exceptions of bits";
  for (int bits = 58; bits < 128; ++bits)
    EXPECT_FALSE(is_taken<double>(with(1, 128 | bits), 96)) << bits;  // 64 is too long
  EXPECT_FALSE(is_taken<double>(with(2, 0), 96)) << "exceptions that there are not";
  const std::size_t rows = 5 + 96 * 3 / 8;  // 4 exceptions: 0, 30, 60, 90
  EXPECT_TRUE(is_taken<double>(with(rows + 6, 95), 96));
  EXPECT_FALSE(is_taken<double>(with(rows + 6, 96), 96)) << "a row that there is not";
  EXPECT_FALSE(is_taken<double>(with(rows + 6, 60), 96)) << "a row twice";
  EXPECT_FALSE(is_taken<std::int64_t>(good, 96)) << "exceptions of integers";
  const std::vector<std::byte> ids = encoded(std::vector<std::int64_t>{3, 9, 4});
  EXPECT_TRUE(is_taken<std::int64_t>(ids, 3));
  for (const int form : {1, 31}) {
    std::vector<std::byte> bytes = ids;
    bytes[0] = static_cast<std::byte>(form);
    EXPECT_FALSE(is_taken<std::int64_t>(bytes, 3)) << form;
  }
}

}  // namespace
}  // namespace culmen::encoding
