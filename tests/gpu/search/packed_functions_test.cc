// Packed functions without a GPU: what kernels call, on the host, over the bytes that a mirror has.
//
// CULMEN_TEST_CASES=N    so many cases of random tables, divided by 100
// CULMEN_TEST_SEED=N     one table again, as a failure prints it
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "cpu/node_children.h"
#include "gpu/search/functions.h"
#include "gpu/search/pack_functions.h"
#include "gpu/search/pack_predicate.h"
#include "gpu/search/pack_query.h"
#include "index/build/bulk_load.h"
#include "index/snapshot_fields.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/field_oracle.h"
#include "tests/field_queries.h"
#include "tests/field_tables.h"
#include "tests/gpu/mirrored_bytes.h"
#include "tests/gpu/random_snapshot.h"

namespace culmen::test {
namespace {

constexpr double kNoRow = -std::numeric_limits<double>::infinity();

// The rank curves of an index, as a mirror has them.
class MirroredCurves {
 public:
  explicit MirroredCurves(const Snapshot& s) {
    if (s.quantiles == nullptr) return;
    for (const std::vector<double>& quantiles : *s.quantiles)
      curves_.push_back(std::make_unique<const RankCurve>(quantiles));
    for (const auto& curve : curves_) numbers_.push_back(curve->numbers());
  }
  std::span<const RankSteps> get() const { return numbers_; }

 private:
  std::vector<std::unique_ptr<const RankCurve>> curves_;
  std::vector<RankSteps> numbers_;
};

std::vector<gpu::AttributeBounds> mirrored_attributes(const Snapshot& s) {
  std::vector<gpu::AttributeBounds> attributes;
  for (int i = 0; i < s.num_attributes(); ++i) {
    const BoundUnit& unit = s.units[static_cast<std::size_t>(i)];
    attributes.push_back({unit.origin, unit.unit, s.layout.maximum_row(i), s.layout.minimum_row(i)});
  }
  return attributes;
}

// What level-1 nodes have in a bounds slot: the bounds of all rows below them.
class NodeBounds {
 public:
  NodeBounds(const Snapshot& s, std::uint32_t slot) {
    const NodeRef node = s.node(slot);
    for (int row = 0; row < s.layout.num_rows(); ++row) {
      float& bound = bounds_.emplace_back(node.bounds()[row][0]);
      for (std::uint32_t c = 1; c < node.header().num_children; ++c)
        bound = row < s.layout.first_minimum_row() ? std::max(bound, node.bounds()[row][c])
                                                   : std::min(bound, node.bounds()[row][c]);
    }
  }
  float operator[](std::int32_t row) const { return bounds_[static_cast<std::size_t>(row)]; }

 private:
  std::vector<float> bounds_;
};

// What has been met.
struct FunctionsMet {
  std::set<TermFunction> numbers;
  std::uint64_t categories = 0, conditions = 0, rows = 0, joint = 0, capped = 0;
  std::uint64_t on_page = 0, elsewhere = 0;
  std::uint64_t bounds = 0, looser = 0;  // than the CPU's, of the same kind
  std::uint64_t nodes = 0, infinite = 0;
};

template <typename T>
class KernelFunctions {
 public:
  KernelFunctions(const Snapshot& s, const ResolvedQuery& query, std::span<const RankSteps> curves,
                  FunctionsMet& met)
      : s_(s),
        query_(query),
        met_(met),
        leaves_(s),
        attributes_(mirrored_attributes(s)),
        bytes_(gpu::pack_functions(query, curves)) {
    for (const FunctionTerms::Term& term : query.functions.terms()) {
      if (const auto* number = std::get_if<NumberTerm>(&term)) met.numbers.insert(number->function);
      met.categories += std::holds_alternative<CategoryTerm>(term) ? 1 : 0;
      met.conditions += std::holds_alternative<ConditionTerm>(term) ? 1 : 0;
    }
    met.joint += query.joint ? 1 : 0;
    met.capped += query.joint && query.joint->bounds.front().plan.capped ? 1 : 0;
  }

  void expect_same_as_cpu() {
    if (s_.height > 0) best_below(s_.root);
  }

 private:
  const gpu::PackedFunctions& packed() const {
    return *reinterpret_cast<const gpu::PackedFunctions*>(bytes_.get());
  }

  // Of several such bounds a device has the first, with a table for what rises above the lines.
  bool has_tangents() const { return query_.joint && !query_.joint->bounds.front().tangents.empty(); }

  // The highest score of a row that passes.
  double best_of_leaf(std::uint32_t leaf) {
    return leaves_.test<T>(leaf, {}, [&](const auto& tested) { return best_of(leaf, tested); });
  }
  double best_of(std::uint32_t leaf, const auto& tested) {
    const auto stride = static_cast<std::uint32_t>(s_.leaf_rows);
    double best = kNoRow;
    for (std::uint32_t i = 0; i < s_.leaf(leaf).num_rows; ++i) {
      const std::uint64_t row = std::uint64_t{leaf} * stride + i;
      const double of_weights = score(query_.score_terms(), query_.offset,
                                      [&](std::int32_t attribute) { return s_.value(row, attribute); });
      const double found = gpu::add_functions(packed(), tested, i, of_weights);
      if (!passes(s_, query_.filter, row)) continue;  // outside of domains only memory must be right
      const double expected = query_.functions.add(s_, row, of_weights);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(expected));
      EXPECT_LE(std::fabs(found), query_.largest);
      best = std::max(best, found);
      const bool is_on_page = gpu::is_on_page(packed(), tested, i, found);
      EXPECT_EQ(is_on_page, !query_.is_on_earlier_page(found, s_.leaf_ids(leaf)[i]) &&
                                !(query_.groups && std::ranges::binary_search(query_.groups->full,
                                                                              query_.groups->of(s_, row))));
      ++(is_on_page ? met_.on_page : met_.elsewhere);
      ++met_.rows;
    }
    return best;
  }

  double best_below(std::uint32_t slot) {
    const NodeRef node = s_.node(slot);
    const Frontier::Bounds on_cpu = bounds_of_children(s_, query_, slot),
                           of_weights = bounds_of_children(query_.bound, node);
    const Frontier::Children that_may_pass = children_to_visit(query_.filter, s_, slot);
    double best = kNoRow;
    for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
      const std::uint32_t child = node.children()[c];
      const double below = node.header().level == 1 ? best_of_leaf(child) : best_below(child);
      const gpu::ChildZone zone = {attributes_.data(), tested_child(s_, slot, c, {})};
      const double bound = gpu::bound_with_functions(packed(), of_weights[c], zone);
      EXPECT_GE(bound, below);
      ++met_.bounds;
      if ((that_may_pass >> c & 1) != 0 && !has_tangents()) met_.looser += bound > on_cpu[c] ? 1 : 0;
      best = std::max(best, below);
    }
    const gpu::NodeZone<NodeBounds> zone = {NodeBounds(s_, slot), attributes_.data(),
                                            tested_child(s_, slot, 0, {})};
    double of_node = query_.bound.base;
    for (const BoundTerm& term : query_.bound.terms)
      of_node = std::fma(term.coefficient, static_cast<double>(zone.bound(term.row)), of_node);
    const double bound = gpu::bound_with_functions(packed(), of_node, zone);
    EXPECT_GE(bound, best);
    ++met_.nodes;
    met_.infinite += std::isinf(bound) ? 1 : 0;
    return best;
  }

  const Snapshot& s_;
  const ResolvedQuery& query_;
  FunctionsMet& met_;
  MirroredLeaves leaves_;
  std::vector<gpu::AttributeBounds> attributes_;
  AlignedBytes bytes_;
};

std::uint64_t random_row(const Snapshot& s, Random& random) {
  for (;;) {
    const auto leaf = static_cast<std::uint32_t>(random.below(s.leaf_slots));
    const std::uint32_t num_rows = s.leaf(leaf).num_rows;
    if (num_rows > 0)
      return std::uint64_t{leaf} * static_cast<std::uint64_t>(s.leaf_rows) + random.below(num_rows);
  }
}

// After a row, or without the groups of some rows.
void set_page(const Snapshot& s, Random& random, ResolvedQuery& query) {
  if (random.chance(0.4)) {
    const std::uint64_t row = random_row(s, random);
    const double of_weights = score(query.score_terms(), query.offset,
                                    [&](std::int32_t attribute) { return s.value(row, attribute); });
    query.after = Cursor{query.functions.add(s, row, of_weights), s.id(row), {}};
  }
  if (random.chance(0.6)) return;
  const bool is_attribute = s.fields.empty() || random.chance(0.5);
  const std::size_t num_columns = is_attribute ? s.attributes.size() : s.fields.size();
  const auto column = static_cast<std::int32_t>(random.below(num_columns));
  if (!is_attribute && s.fields[static_cast<std::size_t>(column)].role == FieldRole::stored) return;
  query.groups = ResolvedGroups{is_attribute, column, 1, {}};
  std::set<GroupKey> full;
  for (std::uint64_t i = random.below(10); i > 0; --i)
    full.insert(query.groups->of(s, random_row(s, random)));
  query.groups->full.assign(full.begin(), full.end());
}

// Random tables with fields and gaps, and queries with terms, or by ranks, some of pages.
TEST(PackedFunctions, AddAndBoundAsTheCpuDoes) {
  FunctionsMet met;
  const std::uint64_t num_tables = num_cases(40'000) / 100 / (kSanitized ? 2 : 1) + 1;
  for (std::uint64_t t = 1; t <= num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : t;
    Random random(seed);
    const RandomSnapshot table(random);
    const std::shared_ptr<Snapshot> s = table.snapshot;
    const std::vector<Attribute>& attributes = table.source.schema().attributes;
    s->quantiles = std::make_shared<const Quantiles>(quantiles_of_rows(attributes.size(), table.rows));
    const FieldOracle oracle(table.source.schema(), table.rows,
                             stand_ins_of_rows(attributes, table.rows, table.is_float32), *s->quantiles);
    const MirroredCurves curves(*s);
    for (int q = 0; q < 10; ++q) {
      const Query query = random_field_query(random, oracle, random.chance(0.2), true);
      if (oracle.refuses(query)) continue;
      ResolvedQuery resolved = resolve(query, *s);
      if (s->num_rows > 0) set_page(*s, random, resolved);
      if (!gpu::needs_functions(resolved)) continue;
      visit_value_type(*s, [&]<typename T>(T) {
        KernelFunctions<T>(*s, resolved, curves.get(), met).expect_same_as_cpu();
      });
      if (testing::Test::HasFailure())
        FAIL() << describe(query) << "\n"
               << rerun_command(seed, "packed_predicate_test", "PackedFunctions.*");
    }
    if (only_seed() != 0) return;
  }
  if (num_tables < 100) return;
  EXPECT_EQ(met.numbers.size(), 9U);
  EXPECT_GT(met.categories, 50U);
  EXPECT_GT(met.conditions, 100U);
  EXPECT_GT(met.joint, 100U);
  EXPECT_GT(met.capped, 10U);
  EXPECT_GT(met.rows, 100'000U);
  EXPECT_GT(met.on_page, 100'000U);
  EXPECT_GT(met.elsewhere, 10'000U);
  EXPECT_EQ(met.looser, 0U);
  EXPECT_LE(met.infinite, met.nodes / 2);
}

// As kernels of QueryKind::with_functions read it, also of queries without terms.
TEST(PackedFunctions, HaveTheFilter) {
  Random random(1);
  const Table table = random_table(random, ValueClass::small_integers, 100, 2);
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {.leaf_rows = 16});
  std::size_t num_filters = 0;
  for (const std::vector<ScoreTerm>& terms :
       {std::vector<ScoreTerm>(), {ScoreTerm::near(0, 1.0), ScoreTerm::when(id_col() != 5)}})
    for (const Filter& where : {Filter(), col(1) > 0.5, id_col() < 50}) {
      const ResolvedQuery query = resolve({.weights = {1, 2}, .where = where, .terms = terms}, *s);
      const AlignedBytes bytes(gpu::pack_functions(query, {}));
      const auto* functions = reinterpret_cast<const gpu::PackedFunctions*>(bytes.get());
      ASSERT_EQ(functions->num_functions, terms.size());
      const std::vector<std::byte> expected = gpu::pack_predicate(query.filter);
      ASSERT_EQ(functions->filter() == nullptr, expected.empty());
      if (expected.empty()) continue;
      EXPECT_EQ(std::memcmp(functions->filter(), expected.data(), expected.size()), 0);
      ++num_filters;
    }
  EXPECT_EQ(num_filters, 2U);
}

// Keys of scores stay apart where weights alone are small beside the terms, or all 0.
TEST(PackedQueries, ScaleKeysByTheWholeScore) {
  Random random(1);
  const Table table = random_table(random, ValueClass::small_integers, 100, 2);
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {.leaf_rows = 16});
  const ScoreTerm near = ScoreTerm::near(1, 3.0).times(1000);
  for (const double weight : {0.0, 1e-20, 1.0}) {
    const ResolvedQuery query = resolve({.weights = {weight, 0}, .terms = {near}}, *s);
    std::vector<std::uint64_t> packed(gpu::packed_bytes_of(query) / sizeof(std::uint64_t));
    gpu::pack_query(query, reinterpret_cast<std::byte*>(packed.data()));
    const gpu::PackedHeader& header =
        gpu::QueryRef{reinterpret_cast<const std::byte*>(packed.data())}.header();
    EXPECT_GE(query.largest, 1000);
    EXPECT_LE(query.largest * header.key_scale, 2);
    EXPECT_GE(query.largest * header.key_scale, 0.5);
  }
}

}  // namespace
}  // namespace culmen::test
