// What goes between the processes of a sharded index: statistics, queries, answers, as values and as bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/shard_messages.h"
#include "culmen/statistics.h"
#include "index/spreads.h"
#include "tests/cases.h"
#include "tests/field_queries.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

std::vector<Query> random_queries(Random& random) {
  RowSource source(random, Precision::float64, random_width(random, 8));
  const FieldOracle oracle(source.schema(), source.draw_many(random.below(40)), {},
                           std::vector<std::vector<double>>(source.schema().attributes.size()));
  std::vector<Query> queries;
  for (std::uint64_t count = random.below(6); count > 0; --count) {
    queries.push_back(random_field_query(random, oracle, false, true));
    if (queries.size() > 1 && random.chance(0.5)) queries.back().where = queries.front().where;
    if (random.chance(0.3)) queries.back().after = Cursor{random.uniform(-9, 9), random.between(-9, 9)};
    if (random.chance(0.3))
      queries.back().after = Cursor{.score = 1.5, .text = random.pick<std::string>({"", "A-1"})};
  }
  return queries;
}

std::vector<ShardAnswer> random_answers(Random& random) {
  std::vector<ShardAnswer> answers(random.below(5));
  for (std::size_t a = 0; a < answers.size(); ++a) {
    answers[a] = {static_cast<std::uint32_t>(a), random.next(), {}};
    double score = random.uniform(0, 4);
    for (std::uint64_t count = random.below(9); count > 0; --count) {
      // Every id is in one shard; many scores tie.
      const auto id = static_cast<std::int64_t>(answers[a].hits.size() * 8 + a);
      answers[a].hits.push_back({id, std::floor(score), random.next()});
      score -= random.unit();
    }
    std::ranges::sort(answers[a].hits, [](const Hit& x, const Hit& y) {
      return x.score != y.score ? x.score > y.score : x.id < y.id;
    });
  }
  return answers;
}

// Of an id, and in another order: shards have numbers of their own.
std::string text_of(std::int64_t id) {
  std::string text = std::to_string(id);
  std::ranges::reverse(text);
  return text;
}

// The same answers, of ids that are texts.
std::vector<ShardAnswer> with_texts(std::vector<ShardAnswer> answers) {
  for (ShardAnswer& answer : answers) {
    std::ranges::sort(answer.hits, [](const Hit& x, const Hit& y) {
      return x.score != y.score ? x.score > y.score : text_of(x.id) < text_of(y.id);
    });
    for (const Hit& hit : answer.hits) answer.texts.push_back(text_of(hit.id));
  }
  return answers;
}

TableStatistics random_statistics(Random& random) {
  TableStatistics statistics{random.below(100), {}};
  for (int i = random.between(1, 5); i > 0; --i) {
    const double a = random.uniform(-9, 9), b = random.uniform(-9, 9);
    statistics.attributes.push_back({std::min(a, b), std::max(a, b), random.chance(0.9), random.chance(0.5),
                                     random.chance(0.5) ? std::optional(a) : std::nullopt});
    AttributeStatistics& attribute = statistics.attributes.back();
    Moments moments;
    for (int n = attribute.has_values ? random.between(1, 5) : 0; n > 0; --n)
      moments.add(random.uniform(attribute.minimum, attribute.maximum));
    if (random.chance(0.5)) attribute.spread = spread_of(moments);
    if (random.chance(0.5))
      attribute.quantiles = random.chance(0.5) ? std::vector<double>() : std::vector{a - 9, a, a};
  }
  return statistics;
}

// Bytes that were changed or cut are something else, or an error that says so.
template <typename Decode>
void expect_typed_errors(Random& random, const std::vector<std::byte>& good, const Decode& decode) {
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(decode(std::span(good).first(size)), FormatError) << size;
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_THROW(decode(longer), FormatError);
  for (int tries = 0; tries < 300; ++tries) {
    std::vector<std::byte> bad = good;
    for (int flips = random.between(1, 4); flips > 0; --flips)
      bad[random.below(bad.size())] ^= static_cast<std::byte>(1u << random.below(8));
    try {
      static_cast<void>(decode(bad));
    } catch (const FormatError&) {
    }
  }
}

void expect_equal(const Query& a, const Query& b) {
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.k, b.k);
  EXPECT_EQ(a.min_score, b.min_score);
  EXPECT_EQ(a.after, b.after);
  EXPECT_EQ(a.scale, b.scale);
  EXPECT_EQ(a.missing, b.missing);
  EXPECT_TRUE(a.where == b.where) << a.where.text() << " became " << b.where.text();
}

TEST(ShardMessages, QueriesComeBackFromTheirBytes) {
  for (std::uint64_t seed = 0; seed < num_cases(200); ++seed) {
    Random random(seed);
    const std::vector<Query> queries = random_queries(random);
    const std::vector<std::byte> bytes = encode(queries);
    const std::vector<Query> back = decode_queries(bytes);
    ASSERT_EQ(back.size(), queries.size());
    for (std::size_t q = 0; q < queries.size(); ++q) expect_equal(queries[q], back[q]);
    if (seed < 20) expect_typed_errors(random, bytes, [](auto b) { return decode_queries(b); });
  }
}

TEST(ShardMessages, AFilterComesBackFromItsBytes) {
  for (std::uint64_t seed = 0; seed < num_cases(200); ++seed) {
    Random random(seed);
    RowSource source(random, Precision::float64, random_width(random, 8));
    const FieldOracle oracle(source.schema(), source.draw_many(random.below(40)), {});
    const Filter filter = FilterGenerator(random, oracle).tree();
    const std::vector<std::byte> bytes = encode(filter);
    EXPECT_TRUE(decode_filter(bytes) == filter) << filter.text();
    if (seed < 20) expect_typed_errors(random, bytes, [](auto b) { return decode_filter(b); });
  }
}

TEST(ShardMessages, NumbersBeyondInt64ComeBack) {
  const std::int64_t ids[] = {id_of_uint64(3), id_of_uint64(std::uint64_t{1} << 63)};
  const Filter filter = id_col() >= LargeInteger{std::uint64_t{1} << 63} &&
                        !Filter::ids_in(IdSet(ids, IdType::uint64)) && Filter::ids_in(IdSet(ids));
  EXPECT_EQ(decode_filter(encode(filter)), filter);
}

TEST(ShardMessages, SetsOfTextsComeBack) {
  const std::vector<std::string_view> texts = {"b", "", "A-1", "b"};
  const Filter filter = Filter::ids_in(IdSet(texts)) || !Filter::ids_in(IdSet(std::span(texts).first(1)));
  const Filter back = decode_filter(encode(filter));
  EXPECT_EQ(back, filter);
  EXPECT_EQ(back.parts().front().ids().texts(), (std::vector<std::string>{"", "A-1", "b"}));
  Random random(1);
  expect_typed_errors(random, encode(filter), [](auto b) { return decode_filter(b); });
}

TEST(ShardMessages, EqualFiltersTakeRoomOnce) {
  Query query{.weights = {1}, .where = col("city") == std::string(1000, 'x')};
  const std::vector<Query> one(1, query), many(10, query);
  EXPECT_LT(encode(many).size(), encode(one).size() + 9 * 90);
}

TEST(ShardMessages, AFilterThatIsNestedTooDeepIsRefused) {
  Query query{.weights = {1}};
  for (int i = 0; i < Filter::kMaxDepth; ++i) query.where = !query.where;
  const std::vector<std::byte> good = encode(std::vector<Query>{query});
  EXPECT_TRUE(decode_queries(good).front().where == query.where);
  // A negation is its kind and a number of parts; the innermost part is everything, which has none.
  constexpr std::size_t kFilterBytes = 9;
  const auto end = good.end() - kFilterBytes;
  std::vector<std::byte> deep(good.begin(), end);
  for (int i = 0; i < 100'000; ++i) deep.insert(deep.end(), end - kFilterBytes, end);
  deep.insert(deep.end(), end, good.end());
  EXPECT_THROW(static_cast<void>(decode_queries(deep)), FormatError);
}

TEST(ShardMessages, AnswersComeBackFromTheirBytes) {
  for (std::uint64_t seed = 0; seed < num_cases(200); ++seed) {
    Random random(seed);
    const std::vector<ShardAnswer> numbered = random_answers(random);
    const std::vector<ShardAnswer> answers = random.chance(0.5) ? with_texts(numbered) : numbered;
    const std::vector<std::byte> bytes = encode(answers);
    const std::vector<ShardAnswer> back = decode_answers(bytes);
    ASSERT_EQ(back.size(), answers.size());
    for (std::size_t a = 0; a < answers.size(); ++a) {
      EXPECT_EQ(back[a].shard, answers[a].shard);
      EXPECT_EQ(back[a].version, answers[a].version);
      EXPECT_EQ(back[a].hits, answers[a].hits);
      EXPECT_EQ(back[a].texts, answers[a].texts);
    }
    if (seed < 20) expect_typed_errors(random, bytes, [](auto b) { return decode_answers(b); });
  }
}

TEST(ShardMessages, MergingSortsAllHits) {
  for (std::uint64_t seed = 0; seed < num_cases(500); ++seed) {
    Random random(seed);
    std::vector<ShardAnswer> answers = random_answers(random);
    std::vector<Answer> expected;
    for (const ShardAnswer& answer : answers)
      for (const Hit& hit : answer.hits) expected.push_back({hit.id, hit.score});
    const std::optional<std::size_t> k =
        random.chance(0.3) ? std::nullopt : std::optional<std::size_t>(1 + random.below(12));
    expected = FieldOracle::best(std::move(expected), k);
    // An answer may arrive twice, in any order.
    if (!answers.empty()) answers.push_back(answers[random.below(answers.size())]);
    if (answers.size() > 1) std::swap(answers.front(), answers.back());
    const std::vector<ShardHit> merged = merge(answers, k);
    ASSERT_EQ(difference({merged.begin(), merged.end()}, expected), "") << seed;
    for (const ShardHit& hit : merged) EXPECT_EQ(hit.shard, static_cast<std::uint32_t>(hit.id % 8));
    const std::optional<double> floor = floor_of(merged, k);
    ASSERT_EQ(floor.has_value(), k && merged.size() == *k);
    if (floor) {
      EXPECT_EQ(*floor, merged.back().score);
    }
  }
}

TEST(ShardMessages, MergingGoesByTextsWhereThereAreSome) {
  for (std::uint64_t seed = 0; seed < num_cases(500); ++seed) {
    Random random(seed);
    std::vector<ShardAnswer> answers = with_texts(random_answers(random));
    std::vector<std::pair<double, std::string>> expected, found;  // of scores from below
    for (const ShardAnswer& answer : answers)
      for (const Hit& hit : answer.hits) expected.emplace_back(-hit.score, text_of(hit.id));
    std::ranges::sort(expected);
    const std::size_t k = 1 + random.below(12);
    if (expected.size() > k) expected.resize(k);
    if (!answers.empty()) answers.push_back(answers[random.below(answers.size())]);
    for (const ShardHit& hit : merge(answers, k)) {
      EXPECT_EQ(hit.text, text_of(hit.id));
      found.emplace_back(-hit.score, hit.text);
    }
    ASSERT_EQ(found, expected) << seed;
  }
}

TEST(ShardMessages, AFloorRaisesTheMinimumScore) {
  EXPECT_EQ(with_floor({.weights = {1}}, std::nullopt).min_score, std::nullopt);
  EXPECT_EQ(with_floor({.weights = {1}}, 2.0).min_score, 2.0);
  EXPECT_EQ(with_floor({.weights = {1}, .min_score = 3.0}, 2.0).min_score, 3.0);
  EXPECT_EQ(with_floor({.weights = {1}, .min_score = 1.0}, 2.0).min_score, 2.0);
}

TEST(TableStatistics, ComeBackFromTheirBytes) {
  for (std::uint64_t seed = 0; seed < num_cases(200); ++seed) {
    Random random(seed);
    const TableStatistics statistics = random_statistics(random);
    const std::vector<std::byte> bytes = encode(statistics);
    EXPECT_EQ(decode_statistics(bytes), statistics);
    if (seed < 20) expect_typed_errors(random, bytes, [](auto b) { return decode_statistics(b); });
  }
}

TEST(TableStatistics, OfPartsAreThoseOfTheTable) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    RowSource source(random, Precision::float64, random_width(random, 8));
    const std::vector<Row> rows = source.draw_many(1 + random.below(60));
    const RowTable whole(random, source.schema(), rows);
    const Index index = Index::build(whole.view(), {.value_type = ValueType::float64});
    BuildOptions options{.value_type = ValueType::float64};
    for (const AttributeStatistics& attribute : index.statistics().attributes)
      options.stand_ins.push_back(*attribute.stand_in);
    std::vector<TableStatistics> parts;
    for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
      end = first + 1 + random.below(rows.size() - first);
      const std::vector<Row> some(rows.begin() + static_cast<std::ptrdiff_t>(first),
                                  rows.begin() + static_cast<std::ptrdiff_t>(end));
      const RowTable part(random, source.schema(), some);
      parts.push_back(Index::build(part.view(), options).statistics(Scale::zscore));
    }
    const RowTable nothing(random, source.schema(), {});
    parts.push_back(Index::build(nothing.view(), options).statistics(Scale::zscore));
    ASSERT_EQ(merge(parts), index.statistics(Scale::zscore)) << seed;
    parts.push_back(Index::build(nothing.view(), options).statistics());
    ASSERT_EQ(merge(parts), index.statistics()) << seed;
  }
}

TEST(TableStatistics, OfDifferentStandInsCannotBeMerged) {
  const std::vector<TableStatistics> parts = {{1, {{1, 1, true, false, 1.0}}},
                                              {1, {{2, 2, true, false, 2.0}}}};
  EXPECT_THROW(static_cast<void>(merge(parts)), InvalidArgument);
  const std::vector<TableStatistics> widths = {{1, {{}}}, {1, {{}, {}}}};
  EXPECT_THROW(static_cast<void>(merge(widths)), InvalidArgument);
}

}  // namespace
}  // namespace culmen::test
