// The codes of leaves, which are written many at once, against those of each value alone.
#include "index/leaf_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "index/build/bulk_load.h"
#include "index/snapshot.h"
#include "tests/generators.h"
#include "tests/index/simd_targets.h"

namespace culmen::test {
namespace {

void expect_codes_of_values(const Snapshot& s, std::uint32_t leaf) {
  const std::size_t num_words = num_code_words(static_cast<std::size_t>(s.leaf_rows));
  for (std::size_t i = 0; i < s.attributes.size(); ++i) {
    const auto [minimum, maximum] = visit_value_type(s, [&]<typename T>(T) {
      return std::pair(static_cast<double>(s.zone_vector<T>(leaf, Extreme::minimum)[i]),
                       static_cast<double>(s.zone_vector<T>(leaf, Extreme::maximum)[i]));
    });
    const double step = code_step(minimum, maximum);
    for (std::size_t r = 0; r < 4 * num_words; ++r) {
      const int code = s.leaf_codes(leaf)[i * num_words + r % num_words] >> 4 * (r / num_words) & 15;
      const bool has_code = r < s.leaf(leaf).num_rows && std::isfinite(step);
      const std::uint64_t row = std::uint64_t{leaf} * static_cast<std::uint64_t>(s.leaf_rows) + r;
      EXPECT_EQ(code, has_code ? code_of(s.value(row, static_cast<int>(i)), minimum, 1 / step) : 0)
          << "attribute " << i << ", row " << r;
    }
  }
}

TEST(LeafCodes, AreThoseOfEachValueAlone) {
  for (std::uint64_t trial = 0; trial < 100; ++trial) {
    Random random(trial + 1);
    const Table table = random_table(random, static_cast<ValueClass>(trial % kNumValueClasses),
                                     1 + random.below(300), random_width(random, 12));
    const int leaf_rows = 16 * static_cast<int>(1 + trial % 7);
    for_each_simd_target([&] {
      const auto s = bulk_load(table.view(), {.leaf_rows = leaf_rows, .num_threads = 1});
      for (std::uint32_t leaf = 0; leaf < s->num_leaves; ++leaf) expect_codes_of_values(*s, leaf);
    });
  }
}

}  // namespace
}  // namespace culmen::test
