// Pages of an answer, rows of each group, ranks and counts: against the whole order, on random tables through a life, by
// every engine and over shards.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/shard_messages.h"
#include "culmen/sharded_index.h"
#include "culmen/why.h"
#include "tests/cases.h"
#include "tests/field_trial.h"

namespace culmen::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Of a row in a column, so that equal values are one.
std::string group_of(const Row& row, const Schema& schema, const std::string& column) {
  for (std::size_t i = 0; i < schema.attributes.size(); ++i)
    if (schema.attributes[i].name == column)
      return std::isnan(row.values[i]) ? "-"
                                       : std::to_string(std::bit_cast<std::int64_t>(row.values[i] + 0.0));
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    if (schema.fields[i].name != column) continue;
    const FieldValue& value = row.fields[i];
    if (const auto* const number = std::get_if<double>(&value))
      return std::to_string(std::bit_cast<std::int64_t>(*number + 0.0));
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
    const auto* const text = std::get_if<std::string>(&value);
    return text == nullptr ? "-" : "'" + *text;
  }
  return "?";
}

class PageChecks {
 public:
  std::string check(const Index& index, const FieldOracle& oracle, Random& random) {
    for (int q = 0; q < 4; ++q) {
      Query query = random_field_query(random, oracle, random.chance(0.1), true);
      if (oracle.refuses(query)) continue;
      query.k.reset();
      Query whole = query;
      if (!whole.min_score) whole.min_score = -kInfinity;
      const std::vector<Answer> order = oracle.search(whole);
      std::string fault = check_page(index, query, order, random);
      if (fault.empty()) fault = check_groups(index, oracle, query, order, random);
      whole.min_score.reset();
      if (fault.empty()) fault = check_ranks(index, query, oracle.search(whole), random);
      if (!fault.empty()) return fault + "\n  " + describe(query);
    }
    return "";
  }

  std::uint64_t num_page_rows = 0, num_group_rows = 0, num_limited = 0, num_ranks = 0;

 private:
  // A place of the order: a row's, or close to one.
  static Cursor random_place(const std::vector<Answer>& order, Random& random) {
    if (order.empty()) return {random.uniform(-3, 3), random.between(-5, 5)};
    const Answer& at = order[random.below(order.size())];
    Cursor place = {at.score, at.id};
    if (random.chance(0.2))
      place.score = std::nextafter(place.score, random.chance(0.5) ? kInfinity : -kInfinity);
    if (random.chance(0.2)) place.id += random.between(-1, 1);
    if (random.chance(0.05)) place.score = random.chance(0.5) ? kInfinity : -kInfinity;
    return place;
  }

  static bool is_behind(const Answer& row, const Cursor& place) {
    return row.score < place.score || (row.score == place.score && row.id > place.id);
  }

  static std::vector<Answer> page_of(const std::vector<Answer>& order, const Cursor& place, std::size_t k) {
    std::vector<Answer> page;
    for (const Answer& row : order)
      if (is_behind(row, place) && page.size() < k) page.push_back(row);
    return page;
  }

  std::string check_page(const Index& index, Query query, const std::vector<Answer>& order, Random& random) {
    query.after = random_place(order, random);
    query.k = random.pick<std::size_t>({1, 3, 10, 100, 3000});
    const std::vector<Answer> expected = page_of(order, *query.after, *query.k);
    for (const Engine engine : {Engine::automatic, Engine::bounded, Engine::scan, Engine::gta, Engine::ta}) {
      const SearchOptions options = {.engine = engine, .num_threads = random.between(1, 2)};
      if (engine == Engine::ta && FieldTrial::has_memory_limit(index)) continue;
      const SearchResult result = index.search(query, options);
      if (std::string fault = difference(result.hits, expected); !fault.empty())
        return std::string(engine_name(engine)) + ", a page: " + fault;
    }
    num_page_rows += expected.size();
    const Query sent = decode_queries(encode(std::span(&query, 1))).front();
    if (sent.after != query.after) return "the cursor is lost in a message";
    return "";
  }

  std::string check_groups(const Index& index, const FieldOracle& oracle, Query query,
                           const std::vector<Answer>& order, Random& random) {
    const Schema& schema = oracle.schema();
    std::vector<std::string> columns;
    for (const Attribute& attribute : schema.attributes) columns.push_back(attribute.name);
    for (const Field& field : schema.fields)
      if (!field.is_text() || field.role == FieldRole::filter) columns.push_back(field.name);
    query.per = RowsPer{columns[random.below(columns.size())], 1 + random.below(3)};
    query.k = random.pick<std::size_t>({1, 3, 10, 3000});
    if (random.chance(0.5)) query.after = random_place(order, random);
    std::map<std::int64_t, const Row*> rows;
    for (const Row& row : oracle.rows()) rows[row.id] = &row;
    std::map<std::string, std::size_t> counts;
    std::vector<Answer> expected;
    for (const Answer& row : order) {
      if (++counts[group_of(*rows[row.id], schema, query.per->column)] > query.per->most) {
        ++num_limited;
        continue;
      }
      if (expected.size() < *query.k && (!query.after || is_behind(row, *query.after)))
        expected.push_back(row);
    }
    const Engine engine = random.pick({Engine::automatic, Engine::scan});
    if (std::string fault = difference(index.search(query, {.engine = engine}).hits, expected);
        !fault.empty())
      return "per " + query.per->column + ": " + fault;
    num_group_rows += expected.size();
    const Query sent = decode_queries(encode(std::span(&query, 1))).front();
    if (sent.per != query.per) return "the groups are lost in a message";
    return "";
  }

  std::string check_ranks(const Index& index, const Query& query, const std::vector<Answer>& order,
                          Random& random) {
    const Cursor place = random_place(order, random);
    std::uint64_t before = 0, above = 0;
    for (const Answer& row : order) {
      before += row.score > place.score || (row.score == place.score && row.id < place.id) ? 1 : 0;
      above += row.score > place.score ? 1 : 0;
    }
    if (const std::uint64_t found = index.count_before(query, place); found != before)
      return "count_before " + std::to_string(found) + ", expected " + std::to_string(before);
    if (const std::uint64_t found = index.count_above(query, place.score); found != above)
      return "count_above " + std::to_string(found) + ", expected " + std::to_string(above);
    if (order.empty()) return index.rank_of(query, 0) ? "a rank in an empty order" : "";
    const std::size_t at = random.below(order.size());
    const std::optional<RowRank> rank = index.rank_of(query, order[at].id);
    ++num_ranks;
    if (!rank || rank->rank != at + 1 || rank->score != order[at].score || rank->version != index.version())
      return "the rank of id " + std::to_string(order[at].id) + " is not " + std::to_string(at + 1);
    return "";
  }
};

class Pages : public testing::TestWithParam<int> {};

TEST_P(Pages, GroupsAndRanksAreThoseOfTheWholeOrder) {
  constexpr std::uint64_t kDefaultCases = 3900;
  PageChecks checks;
  for (std::uint64_t t = 1; t <= num_cases(kDefaultCases) / 100 + 1; ++t) {
    const std::uint64_t seed =
        only_seed() != 0 ? only_seed() : (static_cast<std::uint64_t>(GetParam()) + 1) * 9'000'000'000 + t;
    FieldTrial trial(seed, [&checks](const Index& index, const FieldOracle& oracle, Random& random) {
      return checks.check(index, oracle, random);
    });
    ASSERT_EQ(trial.run(seed % 2 == 0), "") << rerun_command(seed, "fields_test", "*Pages*/0");
    if (only_seed() != 0) return;
  }
  if (!ran_all_cases(kDefaultCases)) return;
  EXPECT_GT(checks.num_page_rows, 1000U);
  EXPECT_GT(checks.num_group_rows, 1000U);
  EXPECT_GT(checks.num_limited, 1000U);
  EXPECT_GT(checks.num_ranks, 100U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Pages, testing::Range(0, 2));

// 5,000 rows with many ties, in one index and in three.
struct TiedTable {
  std::vector<double> a, b;
  std::vector<std::int64_t> brand, ids;

  TiedTable() {
    Random random(7);
    for (std::int64_t row = 0; row < 5000; ++row) {
      a.push_back(static_cast<double>(random.below(20)));
      b.push_back(static_cast<double>(random.below(7)) / 4);
      brand.push_back(static_cast<std::int64_t>(random.below(300)));
      ids.push_back(row);
    }
  }

  Index index(std::size_t part, std::size_t num_parts) const {
    std::vector<double> x, y;
    std::vector<std::int64_t> of_part, numbers;
    for (std::size_t row = part; row < a.size(); row += num_parts) {
      x.push_back(a[row]);
      y.push_back(b[row]);
      of_part.push_back(brand[row]);
      numbers.push_back(ids[row]);
    }
    TableView view;
    view.num_rows = x.size();
    view.attributes = {{"a"}, {"b", Preference::low}};
    view.columns = {ColumnView(x), ColumnView(y)};
    view.ids = numbers;
    view.fields = {{"brand", FieldRole::filter, {ColumnType::integer}}};
    view.field_views = {ColumnView(of_part)};
    return Index::build(view);
  }
};

TEST(Pages, JoinedAreOneLongAnswerOverShardsAsWell) {
  const TiedTable table;
  const Index whole = table.index(0, 1);
  const std::vector<Index> parts = {table.index(0, 3), table.index(1, 3), table.index(2, 3)};
  const ShardedIndex shards = ShardedIndex::of(parts);
  Query query = {.weights = {1, -2}, .k = 5000};
  const std::vector<Hit> expected = whole.search(query).hits;
  std::vector<Answer> order;
  for (const Hit& hit : expected) order.push_back({hit.id, hit.score});
  query.k = 700;
  std::vector<Hit> joined;
  for (;;) {
    const SearchResult page = shards.search(query);
    EXPECT_EQ(page.hits.size(), whole.search(query).hits.size());
    if (page.hits.empty()) break;
    joined.insert(joined.end(), page.hits.begin(), page.hits.end());
    query.after = Cursor{page.hits.back().score, page.hits.back().id};
  }
  EXPECT_EQ(difference(joined, order), "");
  query.after.reset();
  query.per = RowsPer{"brand", 2};
  const std::vector<Hit> per_whole = whole.search(query).hits;
  order.clear();
  for (const Hit& hit : per_whole) order.push_back({hit.id, hit.score});
  EXPECT_EQ(order.size(), 600U);
  EXPECT_EQ(difference(shards.search(query).hits, order), "");
  query.after = Cursor{order[299].score, order[299].id};
  order.erase(order.begin(), order.begin() + 300);
  EXPECT_EQ(difference(shards.search(query).hits, order), "");
  for (const std::size_t at : {0U, 17U, 4999U}) {
    const std::optional<RowRank> rank = shards.rank_of({.weights = {1, -2}}, expected[at].id);
    ASSERT_TRUE(rank);
    EXPECT_EQ(rank->rank, at + 1);
    EXPECT_EQ(rank->score, expected[at].score);
    EXPECT_EQ(shards.count_above({.weights = {1, -2}}, expected[at].score),
              whole.count_above({.weights = {1, -2}}, expected[at].score));
  }
  EXPECT_FALSE(shards.rank_of({.weights = {1, -2}}, 5000));
}

TEST(Pages, BatchesHaveThemToo) {
  const TiedTable table;
  const Index index = table.index(0, 1);
  std::vector<Query> queries(300, Query{.weights = {1, -2}, .k = 3});
  for (std::size_t q = 0; q < queries.size(); ++q)
    queries[q].after = Cursor{19 - static_cast<double>(q % 5), 9};
  const std::vector<SearchResult> results = index.search(queries);
  for (std::size_t q = 0; q < queries.size(); ++q) EXPECT_EQ(results[q].hits, index.search(queries[q]).hits);
}

TEST(Pages, WhatTheyCannotBeIsRefused) {
  const Index index = TiedTable().index(0, 1);
  const auto search = [&](const Query& query) { static_cast<void>(index.search(query)); };
  EXPECT_THROW(search({.weights = {1, 0}, .after = Cursor{NAN, 1}}), InvalidArgument);
  EXPECT_THROW(search({.weights = {1, 0}, .per = RowsPer{"brand", 0}}), InvalidArgument);
  EXPECT_THROW(search({.weights = {1, 0}, .per = RowsPer{"bland", 1}}), InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.count_above({.weights = {1, 0}}, NAN)), InvalidArgument);
}

// A block of which all rows rank before the place is not read.
TEST(Pages, RanksReadFewRows) {
  const TiedTable table;
  const Index index = table.index(0, 1);
  EXPECT_EQ(index.count_above({.weights = {1, 0}}, -1), 5000U);
  EXPECT_EQ(index.count_above({.weights = {1, 0}}, 19), 0U);
}

TEST(Why, PartsAddUpAndEvenWeightsMakeTwoRowsEqual) {
  const TiedTable table;
  const Index index = table.index(0, 1);
  const Query query = {.weights = {0.5, -2}};
  const IndexInfo info = index.info();
  const Row first = *index.get(1), second = *index.get(2);
  double sum = 0;
  for (const ScorePart& part : score_parts(query, first, info)) sum += part.part;
  EXPECT_DOUBLE_EQ(sum, index.rank_of(query, 1)->score);
  for (const EvenWeight& even : even_weights(query, first, second, info)) {
    Query changed = query;
    changed.weights[even.attribute == "a" ? 0 : 1] = even.even;
    EXPECT_NEAR(index.rank_of(changed, 1)->score, index.rank_of(changed, 2)->score, 1e-9);
  }
  Query scaled = query;
  for (const Scale scale : {Scale::minmax, Scale::zscore}) {
    scaled.scale = scale;
    sum = 0;
    for (const ScorePart& part : score_parts(scaled, first, index.info(scale))) sum += part.part;
    EXPECT_NEAR(sum, index.rank_of(scaled, 1)->score, 1e-12);
  }
  EXPECT_THROW(static_cast<void>(score_parts(scaled, first, info)), InvalidArgument);  // of no deviations
  EXPECT_THROW(static_cast<void>(score_parts({.weights = {1}}, first, info)), InvalidArgument);
}

TEST(Why, MissingValuesAreSaidToBe) {
  TableView view;
  const std::vector<double> a = {1, 2}, b = {NAN, 4};
  view.num_rows = 2;
  view.attributes = {{"a"}, {.name = "b", .stand_in = StandIn::median}};
  view.columns = {ColumnView(a), ColumnView(b)};
  const Index index = Index::build(view);
  const IndexInfo info = index.info();
  const Query query = {.weights = {1, 1}};
  const std::vector<ScorePart> parts = score_parts(query, *index.get(0), info);
  EXPECT_EQ(parts[1], (ScorePart{"b", 1, 0, 0, true}));
  EXPECT_TRUE(even_weights(query, *index.get(0), *index.get(1), info).empty());
  const Query fills = {.weights = {1, 1}, .missing = Missing::fill};
  EXPECT_EQ(score_parts(fills, *index.get(0), info)[0], (ScorePart{"b", 1, 4, 4, true}));
  EXPECT_EQ(even_weights(fills, *index.get(0), *index.get(1), info).size(), 1U);
}

TEST(EraseWhere, ErasesWhatPasses) {
  Index index = TiedTable().index(0, 1);
  const std::vector<std::int64_t> ids = index.ids_where(col("brand") < 150);
  EXPECT_EQ(index.erase_where(col("brand") < 150), ids.size());
  EXPECT_EQ(index.info().num_rows, 5000 - ids.size());
  EXPECT_EQ(index.erase_where(col("brand") < 150), 0U);
}

}  // namespace
}  // namespace culmen::test
