// Predicates: exact comparisons, and what they know of leaves before they look at rows.
#include <gtest/gtest.h>

#include <cmath>

#include "culmen/error.h"
#include "index/build/bulk_load.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

constexpr std::int64_t kMaxId = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinId = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kTwoTo53 = std::int64_t{1} << 53;

// Ids of the rows that pass: the only attribute has the values, the ids are given.
std::vector<std::int64_t> passing(const std::vector<double>& values, const std::vector<std::int64_t>& ids,
                                  const Filter& filter) {
  const Index index = Index::build({.num_rows = values.size(),
                                    .attributes = {{"a", Preference::low}},
                                    .columns = {ColumnView(values)},
                                    .ids = ids,
                                    .labels = {}});
  std::vector<std::int64_t> found;
  for (const Hit& hit :
       index.search({.weights = {1}, .k = 100, .where = filter}, {.engine = Engine::scan}).hits)
    found.push_back(hit.id);
  std::ranges::sort(found);
  return found;
}

using Ids = std::vector<std::int64_t>;

TEST(Predicates, CompareValuesWithIntegersExactly) {
  const std::vector<double> values = {0x1p53 - 1, 0x1p53, 0x1p53 + 2, 0x1p63, -0x1p63};
  const Ids ids = {1, 2, 3, 4, 5};
  const Column a = col("a");
  EXPECT_EQ(passing(values, ids, a == kTwoTo53 + 1), Ids());
  EXPECT_EQ(passing(values, ids, a != kTwoTo53 + 1), ids);
  EXPECT_EQ(passing(values, ids, a <= kTwoTo53 + 1), Ids({1, 2, 5}));
  EXPECT_EQ(passing(values, ids, a < kTwoTo53 + 1), Ids({1, 2, 5}));
  EXPECT_EQ(passing(values, ids, a >= kTwoTo53 + 1), Ids({3, 4}));
  EXPECT_EQ(passing(values, ids, a > kMaxId), Ids({4}));  // 2^63 - 1 is no double
  EXPECT_EQ(passing(values, ids, a <= kMaxId), Ids({1, 2, 3, 5}));
  EXPECT_EQ(passing(values, ids, a.in({kTwoTo53 + 1, kTwoTo53, 0x1p63})), Ids({2, 4}));
  EXPECT_EQ(passing(values, ids, a == kMinId), Ids({5}));
  EXPECT_EQ(passing(values, ids, a < std::numeric_limits<double>::infinity()), ids);
}

TEST(Predicates, CompareIdsWithNumbersExactly) {
  const std::vector<double> values(6, 1);
  const Ids ids = {kMinId, -1, 2, kTwoTo53, kTwoTo53 + 1, kMaxId};
  const Column id = id_col();
  EXPECT_EQ(passing(values, ids, id == kTwoTo53 + 1), Ids({kTwoTo53 + 1}));
  EXPECT_EQ(passing(values, ids, id == 0x1p53), Ids({kTwoTo53}));
  EXPECT_EQ(passing(values, ids, id > 0x1p53), Ids({kTwoTo53 + 1, kMaxId}));
  EXPECT_EQ(passing(values, ids, id < 2.5 && id > -1.5), Ids({-1, 2}));
  EXPECT_EQ(passing(values, ids, id == 2.5), Ids());
  EXPECT_EQ(passing(values, ids, id != 2.5), ids);
  EXPECT_EQ(passing(values, ids, id >= 0x1p63), Ids());
  EXPECT_EQ(passing(values, ids, id < 0x1p63), ids);
  EXPECT_EQ(passing(values, ids, id <= -0x1p63), Ids({kMinId}));
  EXPECT_EQ(passing(values, ids, id < -0x1p63), Ids());
  EXPECT_EQ(passing(values, ids, !(id >= kMinId)), Ids());
  EXPECT_EQ(passing(values, ids, !id.in({kMaxId, kMinId, -1})), Ids({2, kTwoTo53, kTwoTo53 + 1}));
}

TEST(Predicates, LookIdsUpInSets) {
  const std::vector<double> values(6, 1);
  const Ids ids = {kMinId, -1, 2, kTwoTo53, kTwoTo53 + 1, kMaxId};
  const auto in = [](const Ids& of) { return Filter::ids_in(IdSet(of)); };
  for (const std::int64_t id : ids) {  // also the smallest of the leaf, and of the index
    Ids others = ids;
    std::erase(others, id);
    EXPECT_EQ(passing(values, ids, in({id})), Ids{id});
    EXPECT_EQ(passing(values, ids, !in({id})), others);
    EXPECT_EQ(passing(values, ids, in(others)), others);
  }
  EXPECT_EQ(passing(values, ids, in({0, 1, kTwoTo53 - 1})), Ids());
  EXPECT_EQ(passing(values, ids, in({-1, 2, 3}) && !in({2})), Ids({-1}));
}

TEST(Predicates, AreSimplerThanTheirFilters) {
  const std::vector<double> prices = {10, 20, 30}, stars = {1, 2, 3};
  const std::shared_ptr<const Snapshot> s = bulk_load({.num_rows = 3,
                                                       .attributes = {{"price", Preference::low}, {"stars"}},
                                                       .columns = {ColumnView(prices), ColumnView(stars)},
                                                       .ids = {},
                                                       .labels = {}},
                                                      {});
  const auto kind = [&](const Filter& filter) { return compile_filter(filter, *s).kind; };
  const Column price = col("price"), star = col("stars");
  using Kind = Predicate::Kind;
  EXPECT_EQ(kind({}), Kind::everything);
  EXPECT_EQ(kind(!Filter()), Kind::nothing);
  EXPECT_EQ(kind(price <= 30), Kind::everything);  // as no row is dearer
  EXPECT_EQ(kind(price < 10), Kind::nothing);
  EXPECT_EQ(kind(price.between(21, 29)), Kind::attribute);  // the index's extremes do not tell
  EXPECT_EQ(kind(price.is_null()), Kind::nothing);
  EXPECT_EQ(kind(price.is_not_null()), Kind::everything);
  EXPECT_EQ(kind(price < 15 && price > 16), Kind::nothing);
  EXPECT_EQ(kind(price < 15 || price >= 15), Kind::everything);
  EXPECT_EQ(kind(!(price < 15 && price < 25)), Kind::attribute);
  EXPECT_EQ(kind(price < 15 || star == 2 || price > 20), Kind::any_of);
  EXPECT_EQ(kind((price < 15 || star == 2) && id_col() > 0), Kind::all_of);
  EXPECT_EQ(kind((price < 15 || star < 4) && id_col() > 0), Kind::id);
  EXPECT_EQ(kind(id_col() >= kMinId), Kind::everything);
  const IdSet one(Ids{1});
  EXPECT_EQ(kind(Filter::ids_in(one)), Kind::id_set);
  EXPECT_EQ(kind(!Filter::ids_in(one) && price < 15), Kind::all_of);
  EXPECT_EQ(kind(Filter::ids_in(IdSet())), Kind::nothing);
  EXPECT_EQ(kind(!Filter::ids_in(IdSet())), Kind::everything);
  EXPECT_THROW(kind(price < std::nan("")), InvalidArgument);
  EXPECT_THROW(kind(price.in({1, std::nan("")})), InvalidArgument);
  EXPECT_THROW(kind(col("prize") < 1), InvalidArgument);
  EXPECT_THROW(kind(col(2) < 1 || price < 1), InvalidArgument);

  const auto ranges = [&](const Filter& filter) { return compile_filter(filter, *s).is_ranges(); };
  EXPECT_TRUE(ranges({}));
  EXPECT_TRUE(ranges(price < 5));
  EXPECT_TRUE(ranges(price > 12 && !(price > 25) && star == 2));
  EXPECT_TRUE(ranges(price < 15 || price < 25));
  EXPECT_FALSE(ranges(price < 15 || price > 25));
  EXPECT_FALSE(ranges(price < 15 || star == 2));
  EXPECT_FALSE(ranges(price != 20));
  EXPECT_FALSE(ranges(id_col() < 1));
  EXPECT_FALSE(ranges(price < 15 && Filter::ids_in(one)));
  const auto tests_id_sets = [&](const Filter& filter) { return compile_filter(filter, *s).tests_id_sets(); };
  EXPECT_FALSE(tests_id_sets(price < 15 && star == 2));
  EXPECT_TRUE(tests_id_sets(price < 15 && (star == 2 || !Filter::ids_in(one))));

  const auto implied = [&](const Filter& filter) { return implied_ranges(compile_filter(filter, *s)); };
  ASSERT_EQ(implied((price < 15 && star == 2) || price == 20).size(), 1U);  // the stars are only one part's
  EXPECT_EQ(implied((price < 15 && star == 2) || price == 20)[0].minimum, -20);
  ASSERT_EQ(implied(price != 20).size(), 1U);
  EXPECT_EQ(implied(id_col() > 1 || price < 15).size(), 0U);
}

class PredicateVerdicts : public testing::TestWithParam<ValueClass> {};

// Of leaves by their zone maps, and of rows: what is said of all, or none, is so.
TEST_P(PredicateVerdicts, HoldForEveryRow) {
  std::uint64_t decided = 0;
  for (std::uint64_t trial = 0; trial < num_cases(20'000) / 400 + 10; ++trial) {
    Random random((static_cast<std::uint64_t>(GetParam()) + 1) * 1'000'000 + trial);
    const Table table = random_table(random, GetParam(), 1 + random.below(500), random.between(1, 4));
    const std::shared_ptr<const Snapshot> s = bulk_load(table.view(), {.leaf_rows = 16});
    const Oracle oracle(table.view(), s->value_type == ValueType::float32);
    std::map<std::int64_t, std::size_t> row_of;
    for (std::size_t row = 0; row < oracle.num_rows(); ++row) row_of[oracle.id(row)] = row;
    for (int f = 0; f < 10; ++f) {
      const Filter filter = random_filter(random, oracle, random.between(0, 5));
      const Predicate predicate = compile_filter(filter, *s);
      for (const std::uint32_t leaf : s->order().leaves) {
        struct Zone {
          const Snapshot& s;
          std::uint32_t leaf;
          double value(std::int32_t i, Extreme which) const {
            return visit_value_type(
                s, [&]<typename T>(T) { return static_cast<double>(s.zone_vector<T>(leaf, which)[i]); });
          }
          double minimum(std::int32_t i) const { return value(i, Extreme::minimum); }
          double maximum(std::int32_t i) const { return value(i, Extreme::maximum); }
          std::int64_t min_id() const { return s.leaf(leaf).min_id; }
          AttributeSummary attribute(std::int32_t i) const { return {minimum(i), maximum(i), false, true}; }
          ColumnSummary field(std::int32_t /*i*/) const { return {}; }
        };
        const Verdict verdict = verdict_of(predicate, Zone{*s, leaf});
        decided += verdict == Verdict::some ? 0 : 1;
        for (std::uint32_t r = 0; r < s->leaf(leaf).num_rows; ++r) {
          const std::uint64_t row = leaf * static_cast<std::uint64_t>(s->leaf_rows) + r;
          const bool wanted = oracle.passes(row_of.at(s->id(row)), filter);
          ASSERT_EQ(passes(*s, predicate, row), wanted) << filter.text();
          ASSERT_TRUE(verdict == Verdict::some || (verdict == Verdict::all) == wanted) << filter.text();
        }
      }
    }
  }
  EXPECT_GT(decided, 100U);
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, PredicateVerdicts, testing::ValuesIn(all_value_classes()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

}  // namespace
}  // namespace culmen::test
