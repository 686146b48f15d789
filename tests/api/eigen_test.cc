// The adapter for Eigen matrices: views in both storage orders, and blocks of them.
#include "culmen/eigen.h"

#include <gtest/gtest.h>

#include "culmen/index.h"

namespace culmen::test {
namespace {

std::vector<std::int64_t> best_ids(const TableView& table) {
  std::vector<std::int64_t> ids;
  for (const Hit& hit : Index::build(table).search({.weights = {1, -2}, .k = 2}).hits) ids.push_back(hit.id);
  return ids;
}

TEST(EigenMatrix, IsATableInEitherStorageOrder) {
  Eigen::Matrix<double, 3, 2, Eigen::RowMajor> by_rows;
  by_rows << 5, 1, 9, 4, 7, 1;
  const Eigen::Matrix<double, 3, 2, Eigen::ColMajor> by_columns = by_rows;
  const std::vector<std::int64_t> expected = {2, 0};  // scores 3, 1, 5
  EXPECT_EQ(best_ids(matrix_table(by_rows, {{"a"}, {"b"}})), expected);
  EXPECT_EQ(best_ids(matrix_table(by_columns, {{"a"}, {"b"}})), expected);
}

TEST(EigenMatrix, MayBeABlockOfAnother) {
  Eigen::MatrixXf whole(4, 3);
  whole << 0, 0, 0, 0, 5, 1, 0, 9, 4, 0, 7, 1;
  EXPECT_EQ(best_ids(matrix_table(whole.bottomRightCorner(3, 2), {{"a"}, {"b"}})),
            (std::vector<std::int64_t>{2, 0}));
}

}  // namespace
}  // namespace culmen::test
