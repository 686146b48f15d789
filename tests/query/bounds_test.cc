// The property that every pruning search depends on: no row scores above the bound of its leaf, whatever rounding does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cpu/code_table.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_children.h"
#include "cpu/simd/kernels.h"
#include "index/build/bulk_load.h"
#include "index/leaf_bounds.h"
#include "index/thresholds.h"
#include "query/bound_plan.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

// Pairs of leaf and query per value class; about 250,000 over all classes by default.
std::uint64_t pairs_per_class() {
  return num_cases(5'000) * 50 / kNumValueClasses;
}

std::uint64_t seed_of(ValueClass value_class, std::uint64_t trial) {
  return only_seed() != 0 ? only_seed()
                          : (static_cast<std::uint64_t>(value_class) + 1) * 1'000'000'000 + trial;
}

double score_in(const Snapshot& s, const ResolvedQuery& query, std::uint64_t row) {
  return score(query.score_terms(), query.offset, [&](int attribute) { return s.value(row, attribute); });
}

// The best score in each leaf, of rows that pass the ranges.
std::vector<double> best_scores(const Snapshot& s, const ResolvedQuery& query) {
  std::vector<double> best(s.num_leaves, -kInfinity);
  for (std::size_t leaf = 0; leaf < s.num_leaves; ++leaf)
    for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
      const std::uint64_t row = leaf * static_cast<std::uint64_t>(s.leaf_rows) + r;
      if (passes(s, query.filter, row)) best[leaf] = std::max(best[leaf], score_in(s, query, row));
    }
  return best;
}

// The chain bound without directed rounding, units and error bound: sums and chain in plain binary64. Weights must be
// >= 0 and of one group.
double careless_bound(const Snapshot& s, const ResolvedQuery& query, std::size_t leaf) {
  std::vector<Term> terms(query.terms.begin(), query.terms.end());
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.weight > b.weight; });
  std::vector<double> sums(s.leaf(leaf).num_rows, 0.0);
  double bound = query.offset;
  for (std::size_t j = 0; j < terms.size(); ++j) {
    for (std::uint32_t r = 0; r < sums.size(); ++r)
      sums[r] += s.value(leaf * static_cast<std::uint64_t>(s.leaf_rows) + r, terms[j].attribute);
    const double next = j + 1 < terms.size() ? terms[j + 1].weight : 0;
    bound += (terms[j].weight - next) * *std::max_element(sums.begin(), sums.end());
  }
  return bound;
}

struct Counts {
  std::uint64_t pairs = 0;
  std::uint64_t exact = 0;              // pairs with an exact plan
  std::uint64_t capped = 0;             // pairs whose plan has caps
  std::uint64_t attained = 0;           // bound == score
  std::uint64_t unbounded = 0;          // infinite bounds: valid, but they prune nothing
  std::uint64_t careless_failures = 0;  // scores above the careless bound
};

class Bounds : public testing::TestWithParam<ValueClass> {
 protected:
  // Compares every bound of every node with the best score below it.
  static std::string check(const Snapshot& s, const ResolvedQuery& query, Counts& counts) {
    const std::vector<double> best_in_leaf = best_scores(s, query);
    std::vector<double> best_in_node(s.num_nodes, -kInfinity);
    for (std::size_t n = 0; n < s.num_nodes; ++n) {
      const NodeRef node = s.node(n);
      const Frontier::Bounds bounds = bounds_of_children(query.bound, node);
      for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
        const std::uint32_t child = node.children()[c];
        const double best = node.header().level == 1 ? best_in_leaf[child] : best_in_node[child];
        best_in_node[n] = std::max(best_in_node[n], best);
        ++counts.pairs;
        counts.exact += query.bound.exact ? 1 : 0;
        counts.capped += query.bound.capped ? 1 : 0;
        counts.attained += bounds[c] == best ? 1 : 0;
        counts.unbounded += std::isfinite(bounds[c]) ? 0 : 1;
        if (!(bounds[c] >= best)) {  // nor NaN
          char text[200];
          std::snprintf(text, sizeof text, "node %zu child %u: bound %a (%s plan) below score %a", n, c,
                        bounds[c], query.bound.exact ? "exact" : "inexact", best);
          return text;
        }
      }
    }
    return "";
  }

  static void count_careless(const Snapshot& s, const ResolvedQuery& query, Counts& counts) {
    if (s.num_attributes() > kMaxGroupSize) return;
    if (std::any_of(query.terms.begin(), query.terms.end(), [](const Term& term) { return term.weight < 0; }))
      return;
    const std::vector<double> best = best_scores(s, query);
    for (std::size_t leaf = 0; leaf < best.size(); ++leaf)
      counts.careless_failures += careless_bound(s, query, leaf) < best[leaf] ? 1 : 0;
  }

  // Tables of one to a few leaves; one in 50 has a tree of two levels.
  static Table make_table(Random& random, std::uint64_t trial) {
    const std::size_t num_rows = trial % 50 == 49 ? 700 + random.below(600) : 1 + random.below(120);
    return random_table(random, GetParam(), num_rows, random_width(random, 20));
  }

  static std::shared_ptr<Snapshot> load(Random& random, const Table& table) {
    BuildOptions options{.num_partitions = 1, .leaf_rows = random.pick({16, 32, 64}), .num_threads = 1};
    options.value_type = random_value_type(random, table.view());
    return bulk_load(table.view(), options);
  }
};

TEST_P(Bounds, AreNeverBelowAScoreOfTheirLeaf) {
  const std::vector<std::string> targets = simd::available_targets();
  Counts counts;
  for (std::uint64_t trial = 0; counts.pairs < pairs_per_class(); ++trial) {
    const std::uint64_t seed = seed_of(GetParam(), trial);
    const ForcedTarget forced(targets[seed % targets.size()]);
    Random random(seed);
    const Table table = make_table(random, trial);
    const std::shared_ptr<Snapshot> s = load(random, table);
    const Oracle oracle(table.view(), s->value_type == ValueType::float32);
    for (int q = 0; q < 24; ++q) {
      const Query query = random_query(random, oracle);
      if (oracle.refuses(query)) continue;
      const ResolvedQuery resolved = resolve(query, *s);
      ASSERT_EQ(check(*s, resolved, counts), "")
          << describe(query) << "\n"
          << rerun_command(seed, "bounds_test",
                           "*AreNeverBelow*/" + std::string(value_class_name(GetParam())));
      count_careless(*s, resolved, counts);
    }
    if (only_seed() != 0) return;
  }
  RecordProperty("pairs", std::to_string(counts.pairs));
  RecordProperty("careless_failures", std::to_string(counts.careless_failures));
  if (counts.pairs < 10'000) return;  // too few for the statistics below
  // The leaves must be hostile, or this test could not fail: with these classes a bound that ignores rounding does
  // fall below a score.
  switch (GetParam()) {
    case ValueClass::uniform_f64:
    case ValueClass::duplicates:
    case ValueClass::constant:
    case ValueClass::peaked:
    case ValueClass::mixed_magnitude:
    case ValueClass::timestamps:
    case ValueClass::negative:
      EXPECT_GT(counts.careless_failures, counts.pairs / 1000);
      break;
    case ValueClass::dyadic:
    case ValueClass::small_integers:
      EXPECT_GT(counts.exact, counts.pairs / 10);  // nothing rounds: a bound may equal a score, and does
      EXPECT_GT(counts.attained, counts.pairs / 1000);
      break;
    default:
      break;
  }
  EXPECT_LT(counts.unbounded, counts.pairs / 10);
  if (GetParam() != ValueClass::constant) {  // where every range passes all rows or none
    EXPECT_GT(counts.capped, counts.pairs / 100);
  }
}

// Bounds in units that other values gave, as after a build whose rows have all been erased.
void set_units_of_other_values(Random& random, Snapshot& s) {
  for (std::size_t i = 0; i < s.units.size(); ++i) {
    if (random.chance(0.3)) continue;
    MovingColumn others(random, s.value_type == ValueType::float32);
    AttributeStats stats;
    stats.minimum = stats.maximum = others.value();
    for (int v = 0; v < 5; ++v) {
      const double value = others.value();
      stats.minimum = std::min(stats.minimum, value);
      stats.maximum = std::max(stats.maximum, value);
      s.stats[i].quantum = std::min(s.stats[i].quantum, quantum_exponent(value));
    }
    s.stats[i].quantum = std::min(s.stats[i].quantum, quantum_exponent(stats.minimum));
    s.units[i] = bound_unit(stats);
  }
  s.exact_sums = sums_are_exact(s.stats, s.units);
  std::vector<float> rows(static_cast<std::size_t>(s.layout.num_rows())), all(rows.size() * kFanOut);
  LeafBounds bounds(s.layout, s.units, s.exact_sums, s.leaf_rows);
  const NodeAccess<std::byte> root = s.arena->mutable_node(s.root);
  for (std::uint32_t c = 0; c < root.header().num_children; ++c) {
    const std::uint32_t leaf = root.children()[c];
    visit_value_type(s, [&]<typename T>(T) {
      bounds.compute(s.leaf_values<T>(leaf), static_cast<int>(s.leaf(leaf).num_rows), rows);
    });
    for (std::size_t row = 0; row < rows.size(); ++row) all[row * kFanOut + c] = rows[row];
  }
  encode_bounds(s.layout, all, root.header().num_children, root.bounds());
}

TEST_P(Bounds, InUnitsOfOtherValuesAreNeverBelowAScoreNorNan) {
  Counts counts;
  for (std::uint64_t trial = 0; counts.pairs < pairs_per_class(); ++trial) {
    const std::uint64_t seed = seed_of(GetParam(), trial);
    Random random(seed);
    const Table table = random_table(random, GetParam(), 1 + random.below(120), random_width(random, 20));
    const std::shared_ptr<Snapshot> s = load(random, table);
    ASSERT_EQ(s->height, 1);
    set_units_of_other_values(random, *s);
    const Oracle oracle(table.view(), s->value_type == ValueType::float32);
    for (int q = 0; q < 24; ++q) {
      const Query query = random_query(
          random, oracle,
          q % 2 == 0 ? balancing_weights(random, oracle) : random_weights(random, oracle.num_attributes()));
      if (oracle.refuses(query)) continue;
      ASSERT_EQ(check(*s, resolve(query, *s), counts), "")
          << describe(query) << "\n"
          << rerun_command(seed, "bounds_test",
                           "*InUnitsOfOther*/" + std::string(value_class_name(GetParam())));
    }
    if (only_seed() != 0) return;
  }
}

TEST_P(Bounds, OfAZoneMapAreNeverBelowAScoreOfTheLeafOrOfLaterLeaves) {
  // A filter whose ranges no row passes may make the bound NaN, which excludes nothing.
  const auto covers = [](double bound, double score) { return score == -kInfinity || bound >= score; };
  std::uint64_t attained = 0;
  for (std::uint64_t trial = 0; trial < num_cases(20'000) / 200 + 10; ++trial) {
    Random random(seed_of(GetParam(), trial));
    const Table table = random_table(random, GetParam(), 1 + random.below(300), random.between(1, 12));
    const std::shared_ptr<Snapshot> s =
        bulk_load(table.view(), {.num_partitions = 3, .leaf_rows = 16, .num_threads = 1});
    const Oracle oracle(table.view(), false);
    const Query query = random_query(random, oracle);
    if (oracle.refuses(query)) continue;
    SCOPED_TRACE(describe(query));
    const ResolvedQuery resolved = resolve(query, *s);
    const std::vector<double> best = best_scores(*s, resolved);
    visit_value_type(*s, [&]<typename T>(T) {
      for (std::uint32_t leaf = 0; leaf < s->num_leaves; ++leaf) {
        const double own = zone_score(resolved, s->zone_vector<T>(leaf, Extreme::maximum),
                                      s->zone_vector<T>(leaf, Extreme::minimum));
        const double later =
            zone_score(resolved, s->thresholds().maximum<T>(leaf), s->thresholds().minimum<T>(leaf));
        attained += own == best[leaf] ? 1 : 0;
        EXPECT_TRUE(covers(own, best[leaf])) << own << " and " << best[leaf];
        for (std::uint32_t l = leaf + 1; l < s->num_leaves && s->leaf(l).partition == s->leaf(leaf).partition;
             ++l)
          EXPECT_TRUE(covers(later, best[l])) << "leaf " << leaf << ", later leaf " << l;
      }
    });
  }
  if (GetParam() == ValueClass::constant) {
    EXPECT_GT(attained, 0u);
  }
}

TEST_P(Bounds, ByCodesAreNeverBelowAScoreOfTheirLeaf) {
  std::uint64_t num_left_out = 0;
  for (std::uint64_t trial = 0; trial < num_cases(20'000) / 1000 + 5; ++trial) {
    const std::uint64_t seed = seed_of(GetParam(), trial);
    Random random(seed);
    const Table table = make_table(random, trial);
    const std::shared_ptr<Snapshot> s = load(random, table);
    const Oracle oracle(table.view(), s->value_type == ValueType::float32);
    const std::unique_ptr<cpu::CodeTable> codes = cpu::make_code_table(*s);
    for (int q = 0; q < 24; ++q) {
      const Query query = random_query(random, oracle);
      if (oracle.refuses(query)) continue;
      const ResolvedQuery resolved = resolve(query, *s);
      if (!cpu::CodeTable::suits(resolved)) continue;
      const std::vector<double> best = best_scores(*s, resolved);
      std::vector<double> bounds(best.size(), -kInfinity);
      for (const cpu::BoundedLeaf& leaf : codes->leaves_reaching(resolved, -kInfinity))
        bounds[leaf.leaf] = leaf.bound;
      const double score = best[random.below(best.size())];
      std::vector<bool> reach(best.size(), false);
      for (const cpu::BoundedLeaf& leaf : codes->leaves_reaching(resolved, score)) reach[leaf.leaf] = true;
      for (std::size_t leaf = 0; leaf < best.size(); ++leaf) {
        ASSERT_GE(bounds[leaf], best[leaf])
            << describe(query) << "\n"
            << rerun_command(seed, "bounds_test", "*ByCodes*/" + std::string(value_class_name(GetParam())));
        ASSERT_TRUE(reach[leaf] || best[leaf] == -kInfinity || best[leaf] < score) << describe(query);
        num_left_out += reach[leaf] ? 0 : 1;
      }
    }
    if (only_seed() != 0) return;
  }
  if (GetParam() == ValueClass::uniform_f32) {
    EXPECT_GT(num_left_out, 10u);
  }
}

TEST_P(Bounds, OfFiltersNeverExcludeARowThatPasses) {
  std::uint64_t excluded = 0;
  for (std::uint64_t trial = 0; trial < num_cases(20'000) / 200 + 10; ++trial) {
    Random random(seed_of(GetParam(), trial));
    const Table table = random_table(random, GetParam(), 1 + random.below(1000), random.between(1, 10));
    const std::shared_ptr<Snapshot> s = load(random, table);
    const Oracle oracle(table.view(), s->value_type == ValueType::float32);
    for (int q = 0; q < 8; ++q) {
      ResolvedQuery query;
      const Filter filter =
          random.chance(0.5) ? Filter(random_range(random, oracle)) : random_filter(random, oracle, 2);
      resolve_filter(filter, *s, query);
      const auto leaf_rows = static_cast<std::uint64_t>(s->leaf_rows);
      std::vector<bool> leaf_passes(s->num_leaves, false), node_passes(s->num_nodes, false);
      for (std::size_t leaf = 0; leaf < s->num_leaves; ++leaf)
        for (std::uint32_t r = 0; r < s->leaf(leaf).num_rows; ++r)
          if (passes(*s, query.filter, leaf * leaf_rows + r)) leaf_passes[leaf] = true;
      for (std::size_t n = 0; n < s->num_nodes; ++n)
        for (std::uint32_t c = 0; c < s->node(n).header().num_children; ++c) {
          const std::uint32_t child = s->node(n).children()[c];
          const bool has_passing = s->node(n).header().level == 1 ? leaf_passes[child] : node_passes[child];
          if (has_passing) node_passes[n] = true;
          const bool misses = (children_to_visit(query.filter, *s, n) >> c & 1) == 0;
          excluded += misses ? 1 : 0;
          EXPECT_FALSE(has_passing && misses)
              << filter.text() << "; "
              << rerun_command(seed_of(GetParam(), trial), "bounds_test", "*OfFilters*");
        }
    }
  }
  if (GetParam() == ValueClass::uniform_f32 || GetParam() == ValueClass::timestamps) {
    EXPECT_GT(excluded, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, Bounds, testing::ValuesIn(all_value_classes()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

// With equal weights the chain is one row, the total, and the bound is nearly exact.
TEST(BoundPlan, ReadsOneRowForEqualWeights) {
  Random random(1);
  for (const int d : {1, 2, 8, 9, 16, 17, 20}) {
    Table table = random_table(random, ValueClass::dyadic, 200, d);
    for (Attribute& attribute : table.attributes) attribute.preference = Preference::high;
    const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {.leaf_rows = 16});
    // Units differ by column, so weights that are equal in units undo them.
    for (const Extreme extreme : {Extreme::maximum, Extreme::minimum}) {
      const double sign = extreme == Extreme::maximum ? 1 : -1;
      Query query{.weights = {}, .k = 1};
      for (const BoundUnit& unit : s->units) query.weights.push_back(sign * unit.inverse);
      const ResolvedQuery resolved = resolve(query, *s);
      ASSERT_EQ(resolved.bound.terms.size(), 1u) << d;
      const int row = resolved.bound.terms[0].row;
      EXPECT_EQ(row, d <= kMaxGroupSize ? s->layout.subset_row(0, (1u << d) - 1, extreme)
                                        : s->layout.total_row(extreme));
      const std::vector<double> best = best_scores(*s, resolved);
      const Frontier::Bounds bounds = bounds_of_children(resolved.bound, s->node(0));
      const double highest = *std::max_element(best.begin(), best.begin() + s->node(0).header().num_children);
      for (std::size_t c = 0; c < s->node(0).header().num_children; ++c)
        EXPECT_NEAR(bounds[c], best[c],
                    (highest - best[c]) / 32 + 1e-3 * d);  // in units: the rounding of the codes
    }
  }
}

TEST(BoundPlan, ReadsNothingForAttributesWithoutWeight) {
  Random random(2);
  const Table table = random_table(random, ValueClass::uniform_f64, 100, 12);
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {});
  Query query{.weights = std::vector<double>(12, 0.0), .k = 1};
  query.weights[7] = 2;
  EXPECT_EQ(resolve(query, *s).bound.terms.size(), 1u);
}

// The chain bound is never worse than the zone map: the reason to store subset maxima.
TEST(BoundPlan, IsAsTightAsTheZoneMapOfTheLeaf) {
  Random random(3);
  for (int trial = 0; trial < 100; ++trial) {
    Table table = random_table(random, ValueClass::anticorrelated, 300, 6);
    for (Attribute& attribute : table.attributes) attribute.preference = Preference::high;
    const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {.leaf_rows = 32});
    Query query{.weights = {}, .k = 1};
    for (int i = 0; i < 6; ++i) query.weights.push_back(random.uniform(-1, 1));
    const ResolvedQuery resolved = resolve(query, *s);
    const Frontier::Bounds bounds = bounds_of_children(resolved.bound, s->node(0));
    visit_value_type(*s, [&]<typename T>(T) {
      for (std::uint32_t leaf = 0; leaf < s->num_leaves; ++leaf) {
        const double zone_bound = zone_score(resolved, s->zone_vector<T>(leaf, Extreme::maximum),
                                             s->zone_vector<T>(leaf, Extreme::minimum));
        EXPECT_LE(bounds[leaf], zone_bound + 6 * 0.04);  // codes round by 1/32 of a range each
      }
    });
  }
}

// Products of weight and unit that underflow are rounded, so the plan must not be marked exact.
TEST(BoundPlan, IsNotExactWhereWeightsUnderflowInBoundUnits) {
  constexpr double kUnit = 0x1p-1000;
  std::vector<double> a = {0, kUnit, kUnit, kUnit};
  Table table;
  table.num_rows = a.size();
  table.attributes = {{"a"}, {"b"}};
  table.columns = {ColumnView(a), ColumnView(a)};
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {});
  const Query query{.weights = {0x1p-74, 0x2.8p-74}, .k = 1};
  const ResolvedQuery resolved = resolve(query, *s);
  const Frontier::Bounds bounds = bounds_of_children(resolved.bound, s->node(0));
  EXPECT_GE(bounds[0], best_scores(*s, resolved)[0]) << (resolved.bound.exact ? "exact" : "inexact");
}

}  // namespace
}  // namespace culmen::test
