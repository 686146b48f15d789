// Rows by id, batches in flat arrays, names of attributes, and indexes created without rows.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/generators.h"
#include "tests/harness.h"
#include "tests/moving_table.h"

namespace culmen::test {
namespace {

// Ids far apart, among them the smallest and the largest, in another order than the rows' keys.
Array<std::int64_t> scattered_ids(std::size_t count) {
  Array<std::int64_t> ids(count);
  for (std::size_t r = 0; r < count; ++r) ids[r] = static_cast<std::int64_t>(r * 0x9e3779b97f4a7c15U);
  ids[0] = std::numeric_limits<std::int64_t>::min();
  ids[count - 1] = std::numeric_limits<std::int64_t>::max();
  return ids;
}

TEST(Rows, AreFoundByTheirIdsAsTheyWereGiven) {
  Random random(1);
  for (const ValueClass values : {ValueClass::uniform_f32, ValueClass::uniform_f64, ValueClass::negative}) {
    Table table = random_table(random, values, 3000, 3);
    table.attributes[1].preference = Preference::low;
    table.ids = scattered_ids(table.num_rows);
    const Index index = Index::build(table.view(), {.leaf_rows = 16});
    const std::vector<std::optional<Row>> rows = index.get(table.ids);
    ASSERT_EQ(rows.size(), table.num_rows);
    for (std::size_t r = 0; r < table.num_rows; ++r) {
      ASSERT_TRUE(rows[r].has_value()) << r;
      EXPECT_EQ(rows[r]->id, table.ids[r]);
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(rows[r]->values[i], value_at(table.columns[i], r) + 0.0) << r << ", attribute " << i;
      if (r % 500 == 0) {
        EXPECT_EQ(index.get(table.ids[r]), rows[r]);
      }
    }
    EXPECT_TRUE(index.contains(table.ids[7]));
    EXPECT_FALSE(index.contains(12345));
    EXPECT_EQ(index.get(12345), std::nullopt);
  }
}

TEST(Rows, KeepTheirNumbersWhereOthersWereDropped) {
  std::vector<double> a(5000);
  std::iota(a.begin(), a.end(), 0.0);
  std::vector<std::uint64_t> dropped;
  for (std::uint64_t number = 0; number < 6000; number += 6) dropped.push_back(number);
  TableView table{a.size(), {{"a"}}, {a}, {}, {}, dropped};
  Index index = Index::build(table, {.leaf_rows = 16});
  EXPECT_TRUE(index.verify().empty());
  for (std::size_t r = 0; r < a.size(); ++r) {
    const auto number = static_cast<std::int64_t>(6 * (r / 5) + r % 5 + 1);
    ASSERT_EQ(row_number(r, dropped), static_cast<std::uint64_t>(number));
    if (r % 97 == 0) {
      ASSERT_EQ(index.get(number)->values, std::vector{a[r]});
    }
  }
  EXPECT_FALSE(index.contains(0) || index.contains(5994));
  EXPECT_EQ(index.insert({1, {}, {std::span(a).first(1)}, {}, {}}).first_id, 6000);
}

TEST(Rows, ThatWereDroppedAtTheEndHadNumbersToo) {
  const std::vector<double> a = {1, 2};
  const std::vector<std::uint64_t> dropped = {2, 3, 4};
  Index index = Index::build({2, {{"a"}}, {a}, {}, {}, dropped});
  EXPECT_EQ(index.insert({2, {}, {a}, {}, {}}).first_id, 5);
  const std::vector<std::int64_t> ids = {7, 8};  // dropped rows had other ids
  index = Index::build({2, {{"a"}}, {a}, ids, {}, dropped});
  EXPECT_EQ(index.insert({2, {}, {a}, {}, {}}).first_id, 9);
}

TEST(Rows, ComeInTheOrderOfTheIdsAlsoWhereOneIsAskedForTwiceOrNotThere) {
  const std::vector<double> a = {1, 2, 3};
  TableView table{3, {{"a"}}, {a}, {}, {}};
  const Index index = Index::build(table);
  const std::vector<std::int64_t> ids = {2, 5, 0, 2, -1};
  const std::vector<std::optional<Row>> rows = index.get(ids);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0]->values, std::vector{3.0});
  EXPECT_EQ(rows[2]->values, std::vector{1.0});
  EXPECT_EQ(rows[3], rows[0]);
  EXPECT_FALSE(rows[1] || rows[4]);
  EXPECT_TRUE(index.get(std::span<const std::int64_t>()).empty());
  EXPECT_THROW(static_cast<void>(index.get({static_cast<const std::int64_t*>(nullptr), 2})), InvalidArgument);
}

TEST(Rows, FollowChanges) {
  Index index = Index::create({.attributes = {{"a"}, {"b", Preference::low}}, .has_labels = true});
  EXPECT_FALSE(index.contains(0));
  EXPECT_TRUE(index.search({.weights = {1, 1}}).hits.empty());
  EXPECT_EQ(index.info().value_type, ValueType::float64);
  const std::vector<double> a = {0.1, 0.2}, b = {-3, 4};
  const Labels labels{{'x', 'y', 'z'}, {0, 1, 3}};
  EXPECT_EQ(index.insert({2, {}, {a, b}, {}, labels.view()}).inserted, 2u);
  EXPECT_EQ(index.get(1), (Row{1, {0.2, 4}, "yz"}));
  const std::vector<std::int64_t> first = {0};
  const std::vector<double> one = {7};
  index.upsert({1, {}, {one, one}, first, {}});
  EXPECT_EQ(index.get(0), (Row{0, {7, 7}, ""}));
  index.erase(first);
  EXPECT_FALSE(index.contains(0));
  const SearchResult best = index.search({.weights = {1, 1}});
  ASSERT_EQ(best.hits.size(), 1u);
  EXPECT_EQ(best.row(0), index.get(1));
}

TEST(Schemas, ThatCannotBeAreRefused) {
  EXPECT_THROW(static_cast<void>(Index::create({})), InputError);
  EXPECT_THROW(static_cast<void>(Index::create({.attributes = {{"a"}, {"a"}}})), InputError);
  EXPECT_EQ(Index::create({.attributes = {{"a"}}}, {.value_type = ValueType::float32}).info().value_type,
            ValueType::float32);
}

TEST(Schemas, WithoutRowsHoldWhateverComes) {
  const std::vector<double> none, values = {0.1};
  for (Index index : {Index::create({.attributes = {{"a"}}}), Index::build({0, {{"a"}}, {none}, {}, {}})}) {
    EXPECT_EQ(index.info().value_type, ValueType::float64);
    EXPECT_EQ(index.insert({1, {{"a"}}, {values}, {}, {}}).inserted, 1u);
  }
}

// Two rows with a text as label and field each; validity: of the field.
struct TwoTexts {
  TwoTexts(std::string_view first, std::string_view second, Array<std::uint8_t> validity = {}) {
    for (const std::string_view text : {first, second}) {
      field.texts.bytes.insert(field.texts.bytes.end(), text.begin(), text.end());
      field.texts.offsets.push_back(field.texts.bytes.size());
    }
    field.validity = std::move(validity);
  }

  TableView with_field() const {
    TableView table = {2, {{"a"}}, {values}, {}, {}};
    table.fields = {{.name = "t", .format = {.type = ColumnType::text}}};
    table.field_views = {field.view()};
    return table;
  }
  TableView with_labels() const { return {2, {{"a"}}, {values}, {}, field.texts.view()}; }

  std::vector<double> values = {1, 2};
  Texts field = {{{}, {0}}, {}};
};

std::string refusal_of(const TableView& table, Index index) {
  const auto refusal = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const RowError& error) {
      return error.what();
    }
    return "";
  };
  const std::string built = refusal([&] { static_cast<void>(Index::build(table)); });
  const std::string inserted = refusal([&] { index.insert(table); });
  EXPECT_EQ(built, inserted);
  return built;
}

TEST(Texts, AreUtf8) {
  const TwoTexts good("gr\xC3\xBC\xC3\x9F", "\xE2\x82\xAC");
  const auto refusal = [&](const TwoTexts& texts) {
    const std::string field = refusal_of(texts.with_field(), Index::build(good.with_field()));
    const std::string label = refusal_of(texts.with_labels(), Index::build(good.with_labels()));
    return field + "; " + label;
  };
  EXPECT_EQ(refusal(good), "; ");
  const std::string second_row = "row 2: column \"t\": the text is not UTF-8; row 2: the label is not UTF-8";
  EXPECT_EQ(refusal(TwoTexts("a", "b\xFF")), second_row);
  const std::string first_row = "row 1: column \"t\": the text is not UTF-8; row 1: the label is not UTF-8";
  EXPECT_EQ(refusal(TwoTexts("\xC3", "\xBC")), first_row);  // together they are a letter
  const TwoTexts missing("\xFF", "b", {0b10});
  EXPECT_EQ(refusal_of(missing.with_field(), Index::build(good.with_field())), "");
}

// The same as an index that was built of all the rows.
TEST(Schemas, GiveIndexesThatAnswerAsOthersDo) {
  Random random(2);
  const Table table = random_table(random, ValueClass::uniform_f64, 2000, 3);
  Index grown = Index::create({.attributes = table.attributes}, {.leaf_rows = 32});
  grown.insert(table.view());
  const Index built = Index::build(table.view());
  const TemporaryDirectory directory;
  grown.save(directory.path() / "index");
  const Index opened = Index::open(directory.path() / "index");
  for (int q = 0; q < 20; ++q) {
    const Query query{.weights = random_weights(random, 3), .k = 17};
    const std::vector<Hit> expected = built.search(query).hits;
    for (const Index* index : {&std::as_const(grown), &opened}) {
      const std::vector<Hit> found = index->search(query).hits;
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t rank = 0; rank < found.size(); ++rank) {
        EXPECT_EQ(found[rank].id, expected[rank].id);
        EXPECT_EQ(found[rank].score, expected[rank].score);
      }
    }
  }
  EXPECT_TRUE(grown.verify().empty());
}

TEST(Names, StandForAttributesInFiltersAndAnswers) {
  const std::vector<double> price = {100, 200, 300}, stars = {3, 5, 4};
  const Index index = Index::build({3, {{"price", Preference::low}, {"stars"}}, {price, stars}, {}, {}});
  const SearchResult best =
      index.search({.weights = {0, 1},
                    .where = {{.attribute = "price", .minimum = 150}, {.attribute = 0, .maximum = 250}}});
  ASSERT_EQ(best.hits.size(), 1u);
  EXPECT_EQ(best.attribute(0, "price"), 200);
  EXPECT_EQ(best.attribute(0, "stars"), best.attribute(0, 1));
  for (const auto& wrong : std::vector<AttributeRef>{"Price", "", 2, -1}) {
    EXPECT_THROW(static_cast<void>(best.attribute(0, wrong)), InvalidArgument);
    EXPECT_THROW(static_cast<void>(index.search({.weights = {0, 1}, .where = {{.attribute = wrong}}})),
                 InvalidArgument);
  }
}

TEST(Batches, AnswerInFlatArraysAsOneByOne) {
  Random random(3);
  const Table table = random_table(random, ValueClass::small_integers, 700, 3);
  const Index index = Index::build(table.view(), {.leaf_rows = 16});
  for (const std::size_t k : {1, 10, 900}) {
    std::vector<double> weights;
    for (int q = 0; q < 40; ++q)
      for (const double weight : random_weights(random, 3)) weights.push_back(weight);
    const QueryBatch batch{.weights = weights, .k = k, .where = {{0, 2, kInfinity}}, .min_score = 0.5};
    const BatchAnswers answers = index.search_batch(batch);
    ASSERT_EQ(answers.num_queries, 40u);
    ASSERT_EQ(answers.k, std::min<std::size_t>(k, 700));
    ASSERT_EQ(answers.ids.size(), 40 * answers.k);
    ASSERT_EQ(answers.scores.size(), 40 * answers.k);
    for (std::size_t q = 0; q < 40; ++q) {
      const std::vector<Hit> hits = index
                                        .search({.weights = {&weights[3 * q], &weights[3 * q] + 3},
                                                 .k = k,
                                                 .where = batch.where,
                                                 .min_score = 0.5})
                                        .hits;
      ASSERT_EQ(answers.counts[q], hits.size());
      for (std::size_t rank = 0; rank < answers.k; ++rank) {
        const Hit expected = rank < hits.size() ? hits[rank] : Hit();
        EXPECT_EQ(answers.ids[q * answers.k + rank], expected.id);
        EXPECT_EQ(answers.scores[q * answers.k + rank], expected.score);
      }
    }
  }
}

TEST(Batches, AreRefusedWhereOneQueryWouldBe) {
  const std::vector<double> a = {1, 2};
  const Index index = Index::build({2, {{"a"}, {"b"}}, {a, a}, {}, {}});
  const std::vector<double> three = {1, 2, 3}, zero = {1, 1, 0, 0};
  EXPECT_THROW(static_cast<void>(index.search_batch({.weights = three})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.search_batch({.weights = zero})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.search_batch({.weights = std::span(zero).first(2), .k = 0})),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.search_batch({}, {.num_threads = -1})), InvalidArgument);
  EXPECT_EQ(index.search_batch({}).num_queries, 0u);
}

}  // namespace
}  // namespace culmen::test
