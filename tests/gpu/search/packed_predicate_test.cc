// Packed predicates without a GPU: the functions that kernels call, on the host, over the bytes that a mirror has.
//
// CULMEN_TEST_CASES=N    so many cases of random tables, divided by 100
// CULMEN_TEST_SEED=N     one table again, as a failure prints it
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cpu/node_children.h"
#include "gpu/mirror/filter_bytes.h"
#include "gpu/search/pack_predicate.h"
#include "gpu/search/pack_query.h"
#include "gpu/search/part_list.h"
#include "gpu/search/predicate.h"
#include "index/build/bulk_load.h"
#include "index/snapshot_fields.h"
#include "query/bound_plan.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/field_oracle.h"
#include "tests/field_queries.h"
#include "tests/field_tables.h"
#include "tests/gpu/mirrored_bytes.h"
#include "tests/gpu/random_snapshot.h"

namespace culmen::test {
namespace {

using gpu::PackedPredicate;
using gpu::PackedTest;

class Packed {
 public:
  explicit Packed(const std::vector<std::byte>& bytes) : bytes_(bytes) {}
  const PackedPredicate* get() const { return reinterpret_cast<const PackedPredicate*>(bytes_.get()); }

 private:
  AlignedBytes bytes_;
};

// A query's filter as kernels test it: by ranges and by a predicate.
template <typename T>
class KernelFilter {
 public:
  KernelFilter(const Snapshot& s, const MirroredLeaves& leaves, const Predicate& predicate,
               std::vector<std::uint64_t> ranked_gaps)
      : s_(s),
        leaves_(leaves),
        ranges_(implied_ranges(predicate)),
        packed_(gpu::pack_predicate(predicate, !ranked_gaps.empty())),
        ranked_gaps_(std::move(ranked_gaps)) {}

  bool passes(std::uint32_t leaf, std::uint32_t row) const {
    return leaves_.test<T>(leaf, bits(), [&](const auto& tested) {
      for (const RangePredicate& range : ranges_) {
        const auto value =
            static_cast<double>(tested.rows.value(static_cast<std::uint32_t>(range.attribute), row));
        if (value < range.minimum || value > range.maximum) return false;
      }
      return packed_.get() == nullptr || tested.passes(*packed_.get(), row);
    });
  }

  bool may_pass(std::uint32_t slot, std::uint32_t child) const {
    const NodeRef node = s_.node(slot);
    for (const RangePredicate& range : ranges_) {
      const RangeBound bound = make_range_bound(range, s_);
      if (node.bounds()[bound.maximum_row][child] < bound.lowest ||
          node.bounds()[bound.minimum_row][child] > bound.highest)
        return false;
    }
    if (packed_.get() == nullptr) return true;
    return tested_child(s_, slot, child, bits()).may_pass(*packed_.get());
  }

  const PackedPredicate* packed() const { return packed_.get(); }

 private:
  gpu::AttributeBits bits() const {
    return {ranked_gaps_.data(), static_cast<std::int32_t>(ranked_gaps_.size())};
  }

  const Snapshot& s_;
  const MirroredLeaves& leaves_;
  std::vector<RangePredicate> ranges_;
  Packed packed_;
  std::vector<std::uint64_t> ranked_gaps_;
};

// What has been met.
struct Met {
  std::map<PackedTest::Kind, std::uint64_t> tests;
  std::set<std::uint32_t> key_bytes;  // of tested fields
  std::set<std::string> missing;      // none, some or all of a leaf's values of a tested field
  std::uint64_t passing = 0, failing = 0, excluded = 0, missed_by_children = 0;

  void add(const PackedPredicate& predicate, const Snapshot& s) {
    for (std::uint32_t t = 0; t < predicate.num_tests; ++t) {
      const PackedTest& test = predicate.tests()[t];
      ++tests[test.kind];
      if (test.kind != PackedTest::Kind::field) continue;
      for (const std::uint32_t leaf : s.order().leaves) {
        const FieldZone& zone = s.leaf_fields(leaf).zone(static_cast<std::size_t>(test.column));
        key_bytes.insert(zone.key_bytes);
        missing.insert(zone.num_missing == 0                      ? "none"
                       : zone.num_missing < s.leaf(leaf).num_rows ? "some"
                                                                  : "all");
      }
    }
  }
};

// `predicate`: what rows must pass, as the CPU tests it.
template <typename T>
void expect_same(const Snapshot& s, const Predicate& predicate, const KernelFilter<T>& kernel,
                 const std::string& filter, Met& met) {
  if (kernel.packed() != nullptr) met.add(*kernel.packed(), s);
  const auto leaf_rows = static_cast<std::uint64_t>(s.leaf_rows);
  std::map<std::uint32_t, bool> has_passing, node_has_passing;
  for (const std::uint32_t leaf : s.order().leaves)
    for (std::uint32_t row = 0; row < s.leaf(leaf).num_rows; ++row) {
      const bool passing = passes(s, predicate, leaf * leaf_rows + row);
      ASSERT_EQ(kernel.passes(leaf, row), passing) << filter;
      (passing ? met.passing : met.failing) += 1;
      has_passing[leaf] |= passing;
    }
  for (const std::uint32_t slot : s.order().nodes) {
    const NodeRef node = s.node(slot);
    const Frontier::Children on_cpu = children_to_visit(predicate, s, slot);
    for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
      const std::uint32_t child = node.children()[c];
      const bool has = node.header().level == 1 ? has_passing[child] : node_has_passing[child];
      const bool may_pass = kernel.may_pass(slot, c);
      ASSERT_TRUE(may_pass || !has) << filter;
      node_has_passing[slot] |= has;
      met.excluded += may_pass ? 0 : 1;
      met.missed_by_children += may_pass && (on_cpu >> c & 1) == 0 ? 1 : 0;
    }
  }
}

// Random tables with fields and gaps, filters of any depth, and attributes that must not be missing: demanded by the
// filter, as of a query whose weights the host has, and by PackedTest::Kind::has_ranked, as of one whose it has not.
template <typename T>
void expect_same(const Snapshot& s, const Filter& filter, const std::vector<std::int32_t>& required,
                 Met& met) {
  const MirroredLeaves leaves(s);
  const Predicate all = compile_filter(filter, s, required);
  expect_same(s, all, KernelFilter<T>(s, leaves, all, {}), filter.text(), met);
  std::vector<std::uint64_t> ranked_gaps = attributes_with_gaps(s);
  std::vector<std::uint64_t> required_bits(ranked_gaps.size());
  for (const std::int32_t attribute : required)
    if (!required_bits.empty())
      required_bits[static_cast<std::size_t>(attribute) / 64] |= std::uint64_t{1} << attribute % 64;
  bool has_some = false;
  for (std::size_t word = 0; word < ranked_gaps.size(); ++word)
    has_some |= (ranked_gaps[word] &= required_bits[word]) != 0;
  if (!has_some || testing::Test::HasFatalFailure()) return;
  const KernelFilter<T> later(s, leaves, compile_filter(filter, s), ranked_gaps);
  Met of_later;  // excludes less than tests of `is null` that are merged with demands
  expect_same(s, all, later, filter.text() + " and ranked attributes", of_later);
  met.tests.merge(of_later.tests);
}

TEST(PackedPredicates, DecideAsTheCpuDoes) {
  Met met;
  const std::uint64_t num_tables = num_cases(40'000) / 100 + 1;
  for (std::uint64_t t = 1; t <= num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : t;
    Random random(seed);
    const RandomSnapshot table(random);
    const std::shared_ptr<const Snapshot> s = table.snapshot;
    const FieldOracle oracle(table.source.schema(), table.rows, {});
    FilterGenerator filters(random, oracle);
    for (int f = 0; f < 10; ++f) {
      const Filter filter = filters.tree(random.between(0, 5));
      std::vector<std::int32_t> required;
      for (std::size_t i = 0; i < oracle.num_attributes(); ++i)
        if (random.chance(0.3)) required.push_back(static_cast<std::int32_t>(i));
      visit_value_type(*s, [&]<typename T>(T) { expect_same<T>(*s, filter, required, met); });
      if (testing::Test::HasFatalFailure())
        FAIL() << rerun_command(seed, "packed_predicate_test", "PackedPredicates.*");
    }
    if (only_seed() != 0) return;
  }
  if (num_tables < 100) return;
  using Kind = PackedTest::Kind;
  for (const Kind kind : {Kind::attribute, Kind::field, Kind::id, Kind::has_ranked})
    EXPECT_GT(met.tests[kind], 0U) << static_cast<int>(kind);
  EXPECT_EQ(met.key_bytes, (std::set<std::uint32_t>{0, 1, 2, 4, 8}));
  EXPECT_EQ(met.missing.size(), 3U);
  EXPECT_GT(met.passing, 100'000U);
  EXPECT_GT(met.failing, 100'000U);
  EXPECT_GT(met.excluded, 1000U);
  EXPECT_LE(met.missed_by_children, met.excluded / 1000);
}

// One field of a leaf, and of a child that is this leaf.
class FieldCase {
 public:
  explicit FieldCase(Random& random) : random_(random), num_rows_(1 + random.below(200)) {
    const std::uint64_t width =
        random.pick<std::uint64_t>({1, 2, 60, 256, 257, 65'536, 65'537, 1ull << 32, 0});
    smallest_ = random.pick<std::int64_t>(
        {0, -1, -100, 1'700'000'000, kLowestInt, kLowestInt + 3, kHighestInt, kHighestInt - 70});
    const double missing = random.pick({0.0, 0.0, 0.1, 0.9, 1.0});
    for (std::size_t row = 0; row < num_rows_; ++row) {
      const std::uint64_t more = width == 0 ? random.next() : random.below(width);
      keys_.push_back(random.chance(0.05)
                          ? smallest_
                          : static_cast<std::int64_t>(static_cast<std::uint64_t>(smallest_) + more));
      is_missing_.push_back(random.chance(missing));
    }
  }

  void expect_same(std::set<std::uint32_t>& key_bytes) {
    const std::vector<Field> fields = {{"field", FieldRole::filter, {ColumnType::integer}}};
    LeafFieldsBuilder builder(fields);
    builder.start(num_rows_);
    for (std::size_t row = 0; row < num_rows_; ++row)
      is_missing_[row] ? builder.set_missing(0, row) : builder.set_key(0, row, keys_[row]);
    const std::vector<std::byte> bytes = builder.finish([](std::size_t, std::size_t) { return 0.0; });
    const LeafFields whole(bytes.data());
    const AlignedBytes mirrored({bytes.data(), gpu::filter_bytes(whole)});
    key_bytes.insert(whole.zone(0).key_bytes);

    const Predicate predicate = random_predicate();
    const Packed packed(gpu::pack_predicate(predicate));
    const gpu::TestedLeaf<float> leaf = {{}, LeafFields(mirrored.get()), {}};
    bool some = false;
    for (std::uint32_t row = 0; row < num_rows_; ++row) {
      const bool passing = is_missing_[row] ? predicate.passes_missing : contains(predicate.keys, keys_[row]);
      ASSERT_EQ(leaf.passes(*packed.get(), row), passing) << "key " << keys_[row];
      some |= passing;
    }
    expect_child(whole.zone(0), predicate, *packed.get(), some);
  }

 private:
  Predicate random_predicate() {
    const auto key = [&] {
      if (random_.chance(0.1)) return random_.pick<std::int64_t>({kLowestInt, kHighestInt, 0});
      const std::int64_t near = keys_[random_.below(num_rows_)];
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(near) + random_.below(5) - 2);
    };
    std::vector<std::int64_t> wanted;
    for (std::uint64_t i = random_.below(random_.chance(0.2) ? 150 : 6); i > 0; --i) wanted.push_back(key());
    Intervals<std::int64_t> keys = points(wanted);
    if (random_.chance(0.4)) {
      const std::int64_t a = key(), b = key();
      keys = set_union(keys, {{std::min(a, b), std::max(a, b)}});
    }
    if (random_.chance(0.3)) keys = complement(keys);
    return {.kind = Predicate::Kind::field,
            .passes_missing = random_.chance(0.3),
            .may_miss = true,
            .keys = std::move(keys)};
  }

  void expect_child(const FieldZone& zone, const Predicate& predicate, const PackedPredicate& packed,
                    bool some) {
    const auto child = static_cast<int>(random_.below(kFanOut));
    const std::uint32_t bit = std::uint32_t{1} << child;
    ChildZones zones;
    zones.minimum[child] = zone.minimum;
    zones.maximum[child] = zone.maximum;
    zones.set[child] = zone.set;
    zones.gaps.some_missing = zone.num_missing > 0 ? bit : ~bit;
    zones.gaps.some_present = zone.num_missing < num_rows_ ? bit : ~bit;
    const gpu::TestedChild tested = {{nullptr}, nullptr, &zones, {}, child};
    const bool may_pass = tested.may_pass(packed);
    ASSERT_TRUE(may_pass || !some);
    const bool some_missing = zone.num_missing > 0, some_present = zone.num_missing < num_rows_;
    const ColumnSummary summary = {zone.minimum, zone.maximum, zone.set, some_missing, some_present};
    const Verdict of_present = some_present ? verdict_of_keys(predicate.keys, summary) : Verdict::none;
    const Verdict verdict = with_missing(of_present, some_present, some_missing, predicate.passes_missing);
    ASSERT_TRUE(!may_pass || verdict != Verdict::none);  // the CPU excludes no more
  }

  Random& random_;
  std::size_t num_rows_;
  std::int64_t smallest_ = 0;
  std::vector<std::int64_t> keys_;
  std::vector<bool> is_missing_;
};

TEST(PackedPredicates, CompareKeysOfAnyWidth) {
  std::set<std::uint32_t> key_bytes;
  for (std::uint64_t seed = 1; seed <= num_cases(40'000); ++seed) {
    Random random(seed);
    FieldCase(random).expect_same(key_bytes);
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_EQ(key_bytes.size(), 5U);
}

// The set of a zone tells only the first keys of a long list apart.
TEST(PackedPredicates, ExcludeNoChildForTheEndOfALongList) {
  Predicate predicate = {.kind = Predicate::Kind::field};
  for (std::int64_t i = 0; i < 200; ++i) predicate.keys.push_back({64 * i + 1, 64 * i + 1});
  ChildZones zones;
  zones.gaps.some_present = 1;
  zones.maximum[0] = 64'000;
  zones.set[0] = key_set_bit(0);
  const auto may_pass = [&] {
    const Packed packed(gpu::pack_predicate(predicate));
    return gpu::TestedChild{{nullptr}, nullptr, &zones, {}, 0}.may_pass(*packed.get());
  };
  predicate.keys.push_back({57'600, 57'600});
  EXPECT_TRUE(may_pass());
  predicate.keys.erase(predicate.keys.begin() + 30, predicate.keys.end());
  EXPECT_FALSE(may_pass());
}

// Whatever the parts are, the program is that of the tree.
TEST(PackedPredicates, BranchAsTheTreeSays) {
  constexpr int kFields = 12;
  struct Truths {
    std::uint64_t bits;
    bool operator()(const Predicate& predicate) const {
      if (predicate.parts.empty()) return (bits >> predicate.column & 1) != 0;
      const bool is_conjunction = predicate.kind == Predicate::Kind::all_of;
      for (const Predicate& part : predicate.parts)
        if ((*this)(part) != is_conjunction) return !is_conjunction;
      return is_conjunction;
    }
  };
  struct Trees {
    Random& random;
    Predicate make(int depth) {
      if (depth == 0 || random.chance(0.2))
        return {.kind = Predicate::Kind::field, .column = random.between(0, kFields - 1), .keys = {{1, 1}}};
      Predicate tree = {.kind = random.pick({Predicate::Kind::all_of, Predicate::Kind::any_of})};
      for (int parts = random.between(2, 4); parts > 0; --parts) tree.parts.push_back(make(depth - 1));
      return tree;
    }
  };
  for (std::uint64_t seed = 1; seed <= num_cases(20'000) / 10 + 1; ++seed) {
    Random random(seed);
    const Predicate tree = Trees{random}.make(random.between(0, 5));
    const Packed packed(gpu::pack_predicate(tree, false)), ranked(gpu::pack_predicate(tree, true));
    for (int i = 0; i < 40; ++i) {
      const Truths truths = {random.next()};
      const auto passes = [&](const PackedTest& test) {
        return test.kind == PackedTest::Kind::has_ranked ? (truths.bits >> kFields & 1) != 0
                                                         : (truths.bits >> test.column & 1) != 0;
      };
      ASSERT_EQ(gpu::run_predicate(*packed.get(), passes), truths(tree)) << "seed " << seed;
      ASSERT_EQ(gpu::run_predicate(*ranked.get(), passes), truths(tree) && (truths.bits >> kFields & 1) != 0)
          << "seed " << seed;
    }
  }
}

TEST(PackedPredicates, AreSharedByTheQueriesOfABatch) {
  Random random(5);
  std::vector<std::vector<std::byte>> given;
  for (int q = 0; q < 500; ++q) {
    Intervals<std::int64_t> keys;
    for (std::int64_t i = static_cast<std::int64_t>(random.below(6)); i > 0; --i)
      keys.push_back({-10 * i, -10 * i + static_cast<std::int64_t>(random.below(2))});
    const Predicate one = {.kind = Predicate::Kind::field, .keys = keys};
    given.push_back(keys.empty() ? std::vector<std::byte>() : gpu::pack_predicate(one));
  }
  gpu::PartList list(given.size());
  for (std::size_t q = 0; q < given.size(); ++q) list.set(q, given[q]);
  const std::vector<std::byte> joined = list.join();
  std::map<std::size_t, std::vector<std::byte>> at;
  std::size_t num_filtered = 0, bytes = 0;
  list.for_each([&](std::size_t query, std::size_t offset) {
    ++num_filtered;
    ASSERT_EQ(offset % alignof(PackedPredicate), 0U);
    ASSERT_EQ(offset % sizeof(double), 0U);
    ASSERT_LE(offset + given[query].size(), joined.size());
    ASSERT_TRUE(std::equal(given[query].begin(), given[query].end(),
                           joined.begin() + static_cast<std::ptrdiff_t>(offset)));
    at.emplace(offset, given[query]);
  });
  std::set<std::vector<std::byte>> different(given.begin(), given.end());
  different.erase(std::vector<std::byte>());
  EXPECT_EQ(at.size(), different.size());
  for (const auto& one : different) bytes += one.size();
  EXPECT_EQ(joined.size(), bytes);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(num_filtered),
            std::ranges::count_if(given, [](const auto& one) { return !one.empty(); }));
}

// A batch reserves the same room for each of its queries before it has packed any.
TEST(PackedQueries, FitIntoTheRoomOfTheirBatch) {
  std::uint64_t num_packed = 0, num_with_most = 0, num_with_terms = 0;
  for (std::uint64_t seed = 1; seed <= num_cases(20'000) / 20 + 1; ++seed) {
    Random random(seed);
    RowSource source(random, Precision::float64);
    const std::vector<Row> rows = source.draw_many(1 + random.below(200));
    const RowTable table(random, source.schema(), rows);
    const std::shared_ptr<const Snapshot> s =
        bulk_load(table.view(), {.leaf_rows = 16, .value_type = ValueType::float64});
    const FieldOracle oracle(source.schema(), rows,
                             stand_ins_of_rows(source.schema().attributes, rows, false));
    const auto num_attributes = static_cast<std::size_t>(s->num_attributes());
    for (int q = 0; q < 20; ++q) {
      const Query query = random_field_query(random, oracle, random.chance(0.2), random.chance(0.5));
      if (oracle.refuses(query)) continue;
      const ResolvedQuery resolved = resolve(query, *s);
      const std::size_t most = gpu::max_ranges_of(query, !attributes_with_gaps(*s).empty());
      const std::size_t stride =
          gpu::packed_stride(s->num_attributes(), static_cast<int>(std::min(most, num_attributes)));
      ASSERT_LE(gpu::packed_ranges(resolved).size(), most) << describe(query) << ", seed " << seed;
      ASSERT_LE(gpu::packed_bytes_of(resolved), stride) << query.where.text() << ", seed " << seed;
      std::vector<std::uint64_t> packed(gpu::packed_bytes_of(resolved) / sizeof(std::uint64_t));
      gpu::pack_query(resolved, reinterpret_cast<std::byte*>(packed.data()));
      const gpu::QueryRef ref = {reinterpret_cast<const std::byte*>(packed.data())};
      ASSERT_EQ(ref.num_bytes(), gpu::packed_bytes_of(resolved));
      ASSERT_EQ(ref.header().parts, nullptr);
      ++num_packed;
      num_with_terms += query.terms.empty() ? 0 : 1;
      num_with_most += most > 1 && gpu::packed_ranges(resolved).size() == most ? 1 : 0;
    }
  }
  EXPECT_GT(num_packed, 0U);
  if (ran_all_cases(20'000)) {
    EXPECT_GT(num_with_most, 0U);
    EXPECT_GT(num_with_terms, 0U);
  }
}

}  // namespace
}  // namespace culmen::test
