// The engines against the oracle on a million rows: trees of three levels and partitions of many leaves.
#include <gtest/gtest.h>

#include <string>

#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

struct Scale {
  ValueClass value_class;
  int num_attributes;
};

class Million : public testing::TestWithParam<Scale> {};

TEST_P(Million, RowsAreAnsweredAsTheOracleDoes) {
  constexpr std::size_t kRows = 1'000'000;
  Random random(7 + static_cast<std::uint64_t>(GetParam().value_class));
  const Table table = random_table(random, GetParam().value_class, kRows, GetParam().num_attributes);
  const Oracle oracle(table.view(), false);
  const Index index = Index::build(table.view());
  EXPECT_GE(index.info().height, 3);
  EXPECT_TRUE(index.verify().empty());
  for (const std::size_t k : {1, 16, 1000}) {
    Query query{.weights = random_weights(random, oracle.num_attributes()), .k = k};
    if (k == 16) query.where = random_filter(random, oracle);
    const std::vector<Answer> expected = oracle.search(query);
    for (const Engine engine : kEngines) {
      const SearchResult result = index.search(query, {.engine = engine});
      EXPECT_EQ(difference(result.hits, expected), "") << engine_name(engine) << ": " << describe(query);
    }
  }
}

TEST_P(Million, RowsAreNotReadByTheEngineBounded) {
  constexpr std::size_t kRows = 1'000'000;
  Random random(8);
  const Table table = random_table(random, GetParam().value_class, kRows, GetParam().num_attributes);
  const Index index = Index::build(table.view());
  Query query{.weights = std::vector<double>(table.columns.size()), .k = 10};
  for (std::size_t i = 0; i < query.weights.size(); ++i)
    query.weights[i] = table.attributes[i].preference == Preference::low ? -1.0 : 1.0;
  const SearchResult result = index.search(query, {.engine = Engine::bounded});
  EXPECT_EQ(result.hits, index.search(query, {.engine = Engine::scan}).hits);
  EXPECT_LT(result.stats.rows_scored, kRows / 20);
}

INSTANTIATE_TEST_SUITE_P(Tables, Million,
                         testing::Values(Scale{ValueClass::uniform_f32, 4},
                                         Scale{ValueClass::small_integers, 3},
                                         Scale{ValueClass::anticorrelated, 8}),
                         [](const auto& suite) {
                           return std::string(value_class_name(suite.param.value_class));
                         });

}  // namespace
}  // namespace culmen::test
