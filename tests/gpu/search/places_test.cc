// The rows that rank before a place, as those that pass a k-th score bound. Runs without a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "gpu/search/search_state.h"

namespace culmen::test {
namespace {

// As passes() of gpu/search/leaf_rows.cuh.
bool passes(double score, std::int64_t id, const gpu::KthBound& bound) {
  return score > bound.score || (score == bound.score && id <= bound.id);
}

TEST(Places, ArePassedByTheRowsBeforeThem) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kMost = std::numeric_limits<double>::max(),
                   kLeast = std::numeric_limits<double>::denorm_min();
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min(),
                         kLast = std::numeric_limits<std::int64_t>::max();
  const double next = std::nextafter(1.0, kInf);
  const std::initializer_list<double> scores = {-kMost, -1, -kLeast, 0, kLeast, 1, next, kMost};
  const std::initializer_list<std::int64_t> ids = {kFirst, kFirst + 1, -1, 0, 7, kLast - 1};
  for (const double of_row : scores)
    for (const std::int64_t row : ids) {
      EXPECT_TRUE(passes(of_row, row, gpu::bound_before(-kInf, row)));
      EXPECT_FALSE(passes(of_row, row, gpu::bound_before(kInf, kFirst)));
      EXPECT_EQ(passes(of_row, row, gpu::bound_before(-0.0, kFirst)), of_row > 0);
      for (const double score : scores)
        for (const std::int64_t id : ids)
          EXPECT_EQ(passes(of_row, row, gpu::bound_before(score, id)),
                    of_row > score || (of_row == score && row < id))
              << of_row << ", " << row << " before " << score << ", " << id;
    }
}

}  // namespace
}  // namespace culmen::test
