#include "base/huge_block.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>

namespace culmen {
namespace {

TEST(HugeBlock, GivesPartsOfOneBlockAndThenOfTheHeap) {
  const auto block = std::make_shared<HugeBlock>(1 << 16);
  Array<std::int64_t> first(block), second(block);
  first.reserve(1000);
  second.reserve(2000);
  const std::ptrdiff_t apart = second.data() - first.data();
  EXPECT_EQ(apart, 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.data()) % 64, 0u);
  // They outgrow their parts, and what is left of the block.
  for (std::int64_t i = 0; i < 30'000; ++i) {
    first.push_back(i);
    second.push_back(-i);
  }
  for (std::int64_t i = 0; i < 30'000; ++i) {
    ASSERT_EQ(first[static_cast<std::size_t>(i)], i);
    ASSERT_EQ(second[static_cast<std::size_t>(i)], -i);
  }
}

TEST(HugeBlock, LivesAsLongAsItsArrays) {
  Array<char> text(std::make_shared<HugeBlock>(100));
  text.assign(100, 'a');
  const Array<char> copy = text;
  EXPECT_EQ(std::accumulate(text.begin(), text.end(), 0), 100 * 'a');
  EXPECT_EQ(copy, text);
}

}  // namespace
}  // namespace culmen
