// The engines on a million rows: trees of three levels and partitions of many leaves, a dictionary of a million texts, a
// single gap.
#include <gtest/gtest.h>

#include <string>

#include "tests/field_tables.h"
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

// Row r has the text "t" and r in seven digits, and misses the place if it is the row in the middle.
TEST(Million, TextsAreFoundByOnePrefixRangeOrGap) {
  constexpr std::int64_t kRows = 1'000'000;
  const auto text_of = [](std::int64_t row) {
    const std::string digits = std::to_string(row);
    return std::string("t").append(7 - digits.size(), '0').append(digits);
  };
  const Schema schema = {.attributes = {{"a"}},
                         .fields = {{"text", FieldRole::filter, {ColumnType::text}},
                                    {"place", FieldRole::filter, {ColumnType::integer}}}};
  Random random(9);
  std::vector<Row> rows;
  for (std::int64_t row = 0; row < kRows; ++row)
    rows.push_back({row,
                    {random.unit()},
                    "",
                    {text_of(row), row == kRows / 2 ? FieldValue() : FieldValue(std::int64_t{7})}});
  Index index = Index::build(RowTable(random, schema, rows).view());
  const auto count = [&](const Filter& where, Engine engine) {
    return static_cast<std::int64_t>(
        index.search({.weights = {1}, .k = kRows + 10, .where = where}, {.engine = engine}).hits.size());
  };
  const Column text = col("text"), place = col("place");
  for (const bool changed : {false, true}) {
    if (changed) {  // a text that sorts first, one in the middle, one at the end
      const std::vector<Row> more = {{kRows, {2.0}, "", {std::string("a"), std::int64_t{7}}},
                                     {kRows + 1, {3.0}, "", {text_of(499'999) + "x", std::int64_t{8}}},
                                     {kRows + 2, {4.0}, "", {std::string("u"), FieldValue()}}};
      index.insert(RowTable(random, schema, more).view());
      EXPECT_EQ(index.erase(std::vector<std::int64_t>{0, 1, 2}), 3U);
    }
    const std::int64_t extra = changed ? 1 : 0;
    for (const Engine engine : kEngines) {
      EXPECT_EQ(count(text == text_of(123'456), engine), 1) << engine_name(engine);
      EXPECT_EQ(count(text == "nobody", engine), 0) << engine_name(engine);
      EXPECT_EQ(count(text.starts_with("t0499"), engine), 1000 + extra) << engine_name(engine);
      EXPECT_EQ(count(text < text_of(10), engine), 10 - 2 * extra) << engine_name(engine);
      EXPECT_EQ(count(text.between(text_of(499'990), text_of(500'009)), engine), 20 + extra)
          << engine_name(engine);
      EXPECT_EQ(count(text.in({text_of(5), text_of(6), "u"}), engine), 2 + extra) << engine_name(engine);
      EXPECT_EQ(count(place.is_null(), engine), 1 + extra) << engine_name(engine);
      EXPECT_EQ(count(place == 8, engine), extra) << engine_name(engine);
    }
    EXPECT_LT(index.search({.weights = {1}, .k = 10, .where = place.is_null()}, {.engine = Engine::bounded})
                  .stats.rows_scored,
              1000U);
  }
}

}  // namespace
}  // namespace culmen::test
