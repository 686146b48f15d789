// Predicates over fields and gaps: what zones of leaves and nodes say of rows, and what rows say of themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "cpu/leaf_filter.h"
#include "cpu/node_children.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "index/build/bulk_load.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/field_oracle.h"
#include "tests/field_queries.h"
#include "tests/field_tables.h"

namespace culmen::test {
namespace {

TEST(KeyVerdicts, AreThoseOfTheKeys) {
  Random random(1);
  std::uint64_t decided = 0;
  for (int trial = 0; trial < 200'000; ++trial) {
    const std::int64_t base = random.pick<std::int64_t>({0, -5, 1'000'000, kHighestInt - 100, kLowestInt});
    const std::uint64_t width = random.pick<std::uint64_t>({1, 2, 10, 63, 64, 65, 100});
    const auto key = [&] { return base + static_cast<std::int64_t>(random.below(width)); };
    std::vector<std::int64_t> keys, wanted;
    for (std::uint64_t i = 1 + random.below(5); i > 0; --i) keys.push_back(key());
    for (std::uint64_t i = random.below(6); i > 0; --i) wanted.push_back(key());
    Intervals<std::int64_t> intervals = points(wanted);
    if (random.chance(0.3)) intervals = complement(intervals);
    if (random.chance(0.2)) intervals = set_union(intervals, {{std::min(base, key()), key()}});
    ColumnSummary zone = {*std::ranges::min_element(keys), *std::ranges::max_element(keys), 0, false, true};
    for (const std::int64_t each : keys) zone.set |= key_set_bit(each);
    const auto passing =
        std::ranges::count_if(keys, [&](std::int64_t each) { return contains(intervals, each); });
    const Verdict verdict = verdict_of_keys(intervals, zone);
    ASSERT_TRUE(verdict != Verdict::all || passing == std::ssize(keys));
    ASSERT_TRUE(verdict != Verdict::none || passing == 0);
    // Few keys are told apart.
    ASSERT_TRUE(width > 63 || verdict != Verdict::some || (passing > 0 && passing < std::ssize(keys)));
    decided += verdict != Verdict::some ? 1 : 0;
  }
  EXPECT_GT(decided, 50'000U);
}

// A leaf as a zone that does not read rows.
template <typename T>
struct Zone {
  const Snapshot& s;
  std::uint32_t leaf;

  double minimum(std::int32_t i) const { return s.zone_vector<T>(leaf, Extreme::minimum)[i]; }
  double maximum(std::int32_t i) const { return s.zone_vector<T>(leaf, Extreme::maximum)[i]; }
  std::int64_t min_id() const { return s.leaf(leaf).min_id; }
  AttributeSummary attribute(std::int32_t i) const {
    const AttributeGaps* gaps = s.leaf_fields(leaf).gaps_of(static_cast<std::size_t>(i));
    if (gaps == nullptr) return {minimum(i), maximum(i), false, true};
    return {gaps->minimum, gaps->maximum, true, gaps->num_missing < s.leaf(leaf).num_rows};
  }
  ColumnSummary field(std::int32_t i) const {
    const FieldZone& zone = s.leaf_fields(leaf).zone(static_cast<std::size_t>(i));
    return {zone.minimum, zone.maximum, zone.set, zone.num_missing > 0,
            zone.num_missing < s.leaf(leaf).num_rows};
  }
};

struct Counts {
  std::uint64_t decided = 0, undecided = 0, excluded = 0;
};

template <typename T>
void expect_truth(const Snapshot& s, const Predicate& predicate, const std::map<std::int64_t, bool>& wanted,
                  const std::string& filter, Counts& counts) {
  const auto leaf_rows = static_cast<std::uint64_t>(s.leaf_rows);
  std::map<std::uint32_t, bool> has_passing;  // by leaf
  LeafFilter leaf_filter(predicate);
  SearchStats stats;
  for (const std::uint32_t leaf : s.order().leaves) {
    const Verdict of_zone = verdict_of(predicate, Zone<T>{s, leaf});
    const Verdict verdict = leaf_filter.test<T>(s, leaf, stats);
    (of_zone == Verdict::some ? counts.undecided : counts.decided) += 1;
    std::size_t num_passing = 0;
    for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
      const std::uint64_t row = leaf * leaf_rows + r;
      const bool passing = wanted.at(s.id(row));
      ASSERT_EQ(passes(s, predicate, row), passing) << filter;
      ASSERT_TRUE(of_zone == Verdict::some || (of_zone == Verdict::all) == passing) << filter;
      ASSERT_EQ(verdict == Verdict::some ? leaf_filter.passes(r) : verdict == Verdict::all, passing)
          << filter;
      num_passing += passing ? 1 : 0;
    }
    ASSERT_TRUE(verdict != Verdict::some || leaf_filter.num_passing() == num_passing) << filter;
    has_passing[leaf] = num_passing > 0;
  }
  std::map<std::uint32_t, bool> node_has_passing;
  for (const std::uint32_t slot : s.order().nodes) {
    const NodeRef node = s.node(slot);
    const Frontier::Children visited = children_to_visit(predicate, s, slot);
    for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
      const std::uint32_t child = node.children()[c];
      const bool here = node.header().level == 1 ? has_passing[child] : node_has_passing[child];
      if (here) node_has_passing[slot] = true;
      const bool is_visited = (visited >> c & 1) != 0;
      counts.excluded += is_visited ? 0 : 1;
      ASSERT_TRUE(is_visited || !here) << filter;
    }
  }
  for (const RangePredicate& range : implied_ranges(predicate)) {
    for (const std::uint32_t leaf : s.order().leaves)
      for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
        const std::uint64_t row = leaf * leaf_rows + r;
        const double value = s.value(row, range.attribute);
        ASSERT_TRUE(!wanted.at(s.id(row)) || (value >= range.minimum && value <= range.maximum)) << filter;
      }
  }
}

// Of random tables with fields and gaps.
TEST(FieldPredicates, AreTrueOfEveryRow) {
  Counts counts;
  for (std::uint64_t trial = 0; trial < num_cases(20'000) / 100 + 1; ++trial) {
    Random random(trial + 1);
    const bool is_float32 = random.chance(0.5);
    RowSource source(random, is_float32 ? Precision::float32 : Precision::float64);
    const std::vector<Row> rows = source.draw_many(1 + random.below(1500));
    const RowTable table(random, source.schema(), rows);
    const std::shared_ptr<const Snapshot> s = bulk_load(
        table.view(), {.leaf_rows = 16, .value_type = is_float32 ? ValueType::float32 : ValueType::float64});
    const FieldOracle oracle(source.schema(), rows, {});
    FilterGenerator filters(random, oracle);
    for (int f = 0; f < 10; ++f) {
      const Filter filter = filters.tree(random.between(0, 4));
      std::vector<std::int32_t> required;
      if (random.chance(0.2))
        required.push_back(static_cast<std::int32_t>(random.below(oracle.num_attributes())));
      std::map<std::int64_t, bool> wanted;
      for (const Row& row : rows)
        wanted[row.id] =
            oracle.passes(row, filter) && std::ranges::none_of(required, [&](std::int32_t attribute) {
              return std::isnan(row.values[static_cast<std::size_t>(attribute)]);
            });
      const Predicate predicate = compile_filter(filter, *s, required);
      visit_value_type(*s,
                       [&]<typename T>(T) { expect_truth<T>(*s, predicate, wanted, filter.text(), counts); });
      if (testing::Test::HasFatalFailure()) {
        FAIL() << "trial " << trial;
      }
    }
  }
  if (num_cases(20'000) < 300) return;  // too few to say
  EXPECT_GT(counts.decided, 1000U);
  EXPECT_GT(counts.undecided, 1000U);
  EXPECT_GT(counts.excluded, 1000U);
}

// 64 cameras in leaves of 16, by price: every 16th has no stars, and each brand is on its own in some leaf.
std::shared_ptr<const Snapshot> cameras() {
  static std::vector<double> prices, stars;
  static std::vector<std::int64_t> sold;
  static Labels brands, remarks;
  const std::vector<std::string> names = {"Canon", "Fuji", "Nikon", "Sony"};
  prices.clear(), stars.clear(), sold.clear();
  brands = {{}, {0}}, remarks = {{}, {0}};
  for (int i = 0; i < 64; ++i) {
    prices.push_back(100 + i);
    stars.push_back(i % 16 == 0 ? std::nan("") : 1 + i % 5);
    sold.push_back(20'000 + i);
    const std::string& name = names[static_cast<std::size_t>(i / 16)];
    brands.bytes.insert(brands.bytes.end(), name.begin(), name.end());
    brands.offsets.push_back(brands.bytes.size());
    remarks.offsets.push_back(0);
  }
  TableView table;
  table.num_rows = 64;
  table.attributes = {{"price", Preference::low}, {"stars"}};
  table.columns = {ColumnView(prices), ColumnView(stars)};
  table.fields = {{"brand", FieldRole::filter, {ColumnType::text}},
                  {"sold", FieldRole::filter, {ColumnType::date}},
                  {"remark", FieldRole::stored, {ColumnType::text}}};
  table.field_views = {TextView{brands.view(), {}}, ColumnView(sold), TextView{remarks.view(), {}}};
  return bulk_load(table, {.leaf_rows = 16});
}

TEST(FieldPredicates, AreDecidedByTheWholeIndex) {
  using Kind = Predicate::Kind;
  const std::shared_ptr<const Snapshot> s = cameras();
  const auto compiled = [&](const Filter& filter) { return compile_filter(filter, *s); };
  const auto kind = [&](const Filter& filter) { return compiled(filter).kind; };
  const Column brand = col("brand"), sold = col("sold"), stars = col("stars");
  EXPECT_EQ(kind(brand == "Sony"), Kind::field);
  EXPECT_EQ(kind(brand == "Leica"), Kind::nothing);
  EXPECT_EQ(kind(brand != "Leica"), Kind::everything);
  EXPECT_EQ(kind(brand.starts_with("")), Kind::everything);
  EXPECT_EQ(kind(brand.is_null()), Kind::nothing);
  EXPECT_EQ(kind(brand.is_not_null()), Kind::everything);
  EXPECT_EQ(kind(brand >= "Canon"), Kind::everything);
  EXPECT_EQ(kind(brand < "Sony" || brand == "Sony"), Kind::everything);
  EXPECT_EQ(kind(sold >= "2024-10-04"), Kind::everything);  // day 20,000
  EXPECT_EQ(kind(sold < "2024-10-04"), Kind::nothing);
  EXPECT_EQ(kind(sold > "2024-10-04 00:00:00.5"), Kind::field);
  EXPECT_EQ(kind(sold == "2024-10-05 12:00"), Kind::nothing);
  EXPECT_EQ(kind(stars <= 5), Kind::attribute);  // missing ones fail
  EXPECT_EQ(kind(stars.is_null()), Kind::attribute);
  EXPECT_EQ(kind(stars.is_null() || stars.is_not_null()), Kind::everything);
  EXPECT_EQ(kind(stars.is_null() && stars < 3), Kind::nothing);
  EXPECT_EQ(kind(!(stars < 3) && stars < 3), Kind::nothing);
  EXPECT_EQ(kind(stars < 3 || stars >= 3), Kind::attribute);
}

// The worst number of stars, 1, stands in.
TEST(FieldPredicates, NeedNoGapsIfStandInsFailAsWell) {
  const std::shared_ptr<const Snapshot> s = cameras();
  const auto compiled = [&](const Filter& filter) { return compile_filter(filter, *s); };
  const Column stars = col("stars");
  EXPECT_TRUE(compiled(stars >= 2).is_ranges());
  EXPECT_FALSE(compiled(stars <= 2).is_ranges());
  EXPECT_TRUE(compiled(stars <= 2 || stars.is_null()).is_ranges());
  EXPECT_FALSE(compiled(stars >= 2 || stars.is_null()).is_ranges());
  EXPECT_FALSE(compiled(stars.is_null()).is_ranges());
  EXPECT_FALSE(compiled(col("brand") == "Sony").is_ranges());
  EXPECT_TRUE(implied_ranges(compiled(stars >= 2 || stars.is_null())).empty());
  const std::vector<std::int32_t> required = {1};
  EXPECT_FALSE(compile_filter({}, *s, required).is_ranges());
  EXPECT_TRUE(compile_filter(stars > 1, *s, required).is_ranges());
}

TEST(FieldPredicates, RefuseWhatCannotBeCompared) {
  const std::shared_ptr<const Snapshot> s = cameras();
  const auto said = [&](const Filter& filter) -> std::string {
    try {
      static_cast<void>(compile_filter(filter, *s));
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(said(col("brand") == 5), "\"brand\" holds texts: compare it with a text in single quotes");
  EXPECT_EQ(said(col("price") < "5"), "\"price\" holds numbers: compare it with a number");
  EXPECT_EQ(said(id_col() == "5"), "id holds numbers: compare it with a number");
  EXPECT_EQ(
      said(col("sold") == "yesterday"),
      "\"sold\" holds dates, and \"yesterday\" is none: compare it with a date in single quotes, such as "
      "'2025-06-01'");
  EXPECT_EQ(said(col("sold") == "2023-02-29"), "there is no day '2023-02-29'");
  EXPECT_EQ(said(col("sold") == "2025-06-01 12:00Z"),
            "\"sold\" has no time zone, and \"2025-06-01 12:00Z\" has one: write the time without it");
  EXPECT_EQ(said(col("remark") == "x"),
            "\"remark\" is a stored column: answers show it, filters cannot test it");
  EXPECT_EQ(said(col("sold").starts_with("2025")), "\"sold\" holds dates, and only texts have prefixes");
  EXPECT_EQ(said(col("brands") == "Sony"),
            "no column \"brands\" (did you mean \"brand\"?); known: price, stars, brand, sold; id is that of "
            "the row");
  EXPECT_EQ(said(col("sale") == 5).find("no column \"sale\" (did you mean \"sold\"?)"), 0U);
  EXPECT_EQ(said(col("sold") == 20'000),
            "\"sold\" holds dates: compare it with a date in single quotes, such as '2025-06-01'");
  EXPECT_EQ(said(Range{.attribute = "sold", .minimum = 20'000}), said(col("sold") == 20'000));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(said(col("sold").between(-kInfinity, kInfinity)), "nothing");  // no limit
}

// Leaves and nodes that no passing row can be in are not read, by any engine.
TEST(SelectiveFilters, ReadFewLeaves) {
  std::vector<double> values;
  std::vector<std::int64_t> groups;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(i);
    groups.push_back(i / 16 * 3);
  }
  TableView table;
  table.num_rows = values.size();
  table.attributes = {{"value"}};
  table.columns = {ColumnView(values)};
  table.fields = {{"group", FieldRole::filter, {ColumnType::integer}}};
  table.field_views = {ColumnView(groups)};
  const Index index = Index::build(table, {.leaf_rows = 16});
  for (const Engine engine : {Engine::automatic, Engine::bounded, Engine::scan}) {
    const auto found = [&](const Filter& filter) {
      return index.search({.weights = {-1}, .k = 5, .where = filter}, {.engine = engine, .num_threads = 1});
    };
    // A scan may visit a leaf twice.
    EXPECT_EQ(found(col("group") == 300).hits[0].id, 1600);
    EXPECT_LE(found(col("group") == 300).stats.leaves_visited, 4U);
    EXPECT_LE(found(col("group").in({300, 900, 1500})).stats.leaves_visited, 12U);
    EXPECT_EQ(found(col("group") == 301).stats.leaves_visited, 0U);
    EXPECT_EQ(found(col("group") == 301).hits.size(), 0U);
    EXPECT_EQ(found(col("group") == -1).stats.nodes_visited, 0U);
  }
}

// A test that a disjunction keeps only because another part was decided prunes by all of its intervals.
TEST(FieldPredicates, PruneByWhatIsMergedLate) {
  const std::shared_ptr<const Snapshot> s = cameras();
  const Column price = col("price");
  const Predicate predicate = compile_filter(price < 105 || (price > 160 && col("brand").is_not_null()), *s);
  EXPECT_EQ(predicate.kind, Predicate::Kind::attribute);
  EXPECT_EQ(predicate.values.size(), 2U);
  EXPECT_EQ(predicate.bounds.size(), 2U);
}

}  // namespace
}  // namespace culmen::test
