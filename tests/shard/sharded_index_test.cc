// A sharded index against one index of all rows: the same ids and score bits, through builds, changes, reopening and
// other numbers of shards.
#include "culmen/sharded_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/bounded.h"
#include "culmen/error.h"
#include "culmen/row_reader.h"
#include "index/snapshot.h"
#include "query/resolve.h"
#include "tests/answer_arrays.h"
#include "tests/cases.h"
#include "tests/field_queries.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

bool is_same_row(const Row& a, const Row& b) {
  const auto same_number = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return a.id == b.id && a.label == b.label && a.fields == b.fields &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same_number);
}

std::vector<Answer> answers_of(const SearchResult& result) {
  std::vector<Answer> answers;
  for (const Hit& hit : result.hits) answers.push_back({hit.id, hit.score});
  return answers;
}

class ShardedTrial {
 public:
  explicit ShardedTrial(std::uint64_t seed)
      : random_(seed),
        precision_(random_.pick({Precision::float32, Precision::rounded_to_float32, Precision::float64})),
        source_(random_, precision_, random_width(random_, 8)) {}

  // The first disagreement; empty: none.
  std::string run() {
    try {
      build();
      if (std::string fault = check("built"); !fault.empty()) return fault;
      for (int changes = random_.between(0, 3); changes > 0; --changes) {
        if (std::string fault = change(); !fault.empty()) return fault;
        if (std::string fault = check("changed"); !fault.empty()) return fault;
      }
      return random_.chance(0.5) ? rebalance() : reopen();
    } catch (const std::exception& error) {
      return std::string(error.what()) + doing_;
    }
  }

  std::uint64_t num_queries() const { return num_queries_; }
  std::uint64_t num_hits() const { return num_hits_; }
  std::uint64_t num_limited() const { return num_limited_; }

 private:
  std::filesystem::path directory() const { return temporary_.path() / "shards"; }

  void build() {
    rows_ = source_.draw_many(random_.pick<std::size_t>({0, 1, 2, 5, 17, 40, 300, 300, 2000}));
    RowTable::Shape shape;
    shape.has_ids = random_.chance(0.8);
    if (!shape.has_ids)
      for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row].id = static_cast<std::int64_t>(row);
    const RowTable table(random_, source_.schema(), rows_, shape);
    ShardedBuildOptions options;
    options.num_shards = random_.pick<std::uint32_t>({1, 2, 3, 4, 7, 16});
    options.build.leaf_rows = 16;
    if (precision_ == Precision::rounded_to_float32) options.build.value_type = ValueType::float32;
    if (precision_ == Precision::float64 && rows_.empty()) options.build.value_type = ValueType::float64;
    one_ = Index::build(table.view(), options.build);
    if (!rows_.empty())
      for (const AttributeInfo& attribute : one_->info(Scale::rank).attributes)
        quantiles_.push_back(*attribute.quantiles);
    ShardedIndex::build(table.view(), directory(), options);
    open();
  }

  void open() {
    sharded_ = std::nullopt;
    const bool is_wide = source_.schema().attributes.size() > 64;
    const std::uint64_t most =
        is_wide || random_.chance(0.6) ? kUnlimitedMemory : random_.pick<std::uint64_t>({16, 300'000});
    writes_within_limit_ = most != kUnlimitedMemory;
    sharded_ =
        ShardedIndex::open(directory(), {.writable = true,
                                         .durability = Durability::batch,
                                         .loading = writes_within_limit_ ? Loading::on_touch : Loading::whole,
                                         .max_memory = most});
  }

  // The writer, and a reader that has the logs beside its trees.
  std::string check(const std::string& stage) {
    std::string of_writer = writes_within_limit_ ? check_limited_writer(stage) : check_one(stage);
    if (!of_writer.empty() || random_.chance(0.5)) return of_writer;
    sharded_->flush();
    std::optional<ShardedIndex> writer =
        std::exchange(sharded_, ShardedIndex::open(directory(), {.loading = Loading::on_touch}));
    std::string fault = check_one(stage + ", by a reader on touch");
    if (fault.empty()) fault = check_row_readers();
    if (fault.empty()) fault = check_limited_reader();
    sharded_ = std::move(writer);
    return fault;
  }

  std::string check_limited_writer(const std::string& stage) {
    doing_ = "\n  " + stage + ", " + std::to_string(sharded_->num_shards()) +
             " shards that a writer keeps to a limit";
    if (sharded_->statistics(Scale::zscore) != one_->statistics(Scale::zscore)) return "statistics" + doing_;
    if (sharded_->info().next_id != one_->info().next_id) return "the next id" + doing_;
    if (std::string fault = check_limited(*sharded_); !fault.empty()) return fault;
    return check_rows();
  }

  std::string check_limited_reader() {
    std::optional<ShardedIndex> limited;
    try {
      limited = ShardedIndex::open(directory(), {.loading = Loading::on_touch, .max_memory = 16});
    } catch (const InvalidArgument&) {
      return "";  // the log of a shard that had no rows
    }
    return check_limited(*limited);
  }

  // A batch within a limit of memory: each shard answers all of it.
  std::string check_limited(const ShardedIndex& limited) {
    const FieldOracle oracle(source_.schema(), rows_, {}, quantiles_);
    std::vector<Query> queries;
    std::vector<SearchResult> expected;
    for (int q = 0; q < 12; ++q) {
      const Query query = random_field_query(random_, oracle, false, true);
      try {
        expected.push_back(one_->search(query));
        queries.push_back(query);
      } catch (const InvalidArgument&) {
      }
    }
    const std::vector<SearchResult> results = limited.search(queries, {.num_threads = random_.between(1, 2)});
    ++num_limited_;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      if (std::string fault = difference(results[q].hits, answers_of(expected[q])); !fault.empty())
        return "a batch within a limit: " + fault + doing_ + "\n  " + describe(queries[q]);
      for (std::size_t rank = 0; rank < std::min<std::size_t>(results[q].hits.size(), 3); ++rank)
        if (!is_same_row(results[q].row(rank), expected[q].row(rank)))
          return "a row of a batch within a limit" + doing_;
    }
    return "";
  }

  static std::map<std::int64_t, Row> rows_of(RowReader reader) {
    std::map<std::int64_t, Row> rows;
    for (std::vector<Row> part; !(part = reader.next(100)).empty();)
      for (Row& row : part)
        if (!rows.emplace(row.id, row).second) throw FormatError("a row is read twice");
    return rows;
  }

  std::string check_row_readers() {
    const std::map<std::int64_t, Row> wanted = rows_of(RowReader(*one_));
    if (wanted.size() != one_->info().num_rows) return "rows are not read" + doing_;
    for (const auto& found : {rows_of(RowReader(*sharded_)), rows_of(RowReader::of_directory(directory()))}) {
      if (found.size() != wanted.size()) return "rows of shards are not read" + doing_;
      for (const auto& [id, row] : found)
        if (!wanted.contains(id) || !is_same_row(row, wanted.at(id))) return "a row of a shard" + doing_;
    }
    return "";
  }

  std::string check_one(const std::string& stage) {
    doing_ = "\n  " + stage + ", " + std::to_string(sharded_->num_shards()) + " shards";
    if (const std::vector<std::string> faults = sharded_->verify(); !faults.empty())
      return faults.front() + doing_;
    if (!quantiles_.empty() && one_->info(Scale::rank).attributes.front().quantiles != quantiles_.front())
      return "quantiles" + doing_;
    for (const Scale scale : {Scale::none, Scale::zscore, quantiles_.empty() ? Scale::none : Scale::rank})
      if (sharded_->statistics(scale) != one_->statistics(scale)) return "statistics" + doing_;
    if (sharded_->info().next_id != one_->info().next_id) return "the next id" + doing_;
    const FieldOracle oracle(source_.schema(), rows_, {}, quantiles_);
    std::vector<Query> queries;
    std::vector<std::vector<Answer>> expected;
    for (int q = 0; q < 12; ++q) {
      Query query = random_field_query(random_, oracle, false, true);
      // All weights at the edge of overflow, which only the whole table decides.
      if (random_.chance(0.1))
        for (double& weight : query.weights) weight *= 1e300;
      if (std::string fault = check_query(query, queries, expected); !fault.empty())
        return fault + doing_ + "\n  " + describe(query);
    }
    const std::vector<SearchResult> results = sharded_->search(queries);
    for (std::size_t q = 0; q < queries.size(); ++q)
      if (std::string fault = difference(results[q].hits, expected[q]); !fault.empty())
        return "batch: " + fault + doing_;
    return check_rows();
  }

  std::string check_query(const Query& query, std::vector<Query>& queries,
                          std::vector<std::vector<Answer>>& expected) {
    ++num_queries_;
    const Engine engine = random_.pick(
        {Engine::automatic, Engine::automatic, Engine::bounded, Engine::scan, Engine::ta, Engine::gta});
    const SearchOptions options{.engine = engine, .num_threads = random_.between(0, 2)};
    std::optional<SearchResult> wanted;
    try {
      wanted = one_->search(query);
    } catch (const InvalidArgument&) {
    }
    try {
      const SearchResult found = sharded_->search(query, options);
      if (!wanted) return "a query was answered that one index refuses";
      num_hits_ += found.hits.size();
      if (std::string fault = difference(found.hits, answers_of(*wanted)); !fault.empty()) return fault;
      if (!found.hits.empty() && !(sharded_->score_bound(query) >= found.hits.front().score))
        return "a score exceeds the bound";
      for (std::size_t rank = 0; rank < std::min<std::size_t>(found.hits.size(), 5); ++rank)
        if (!is_same_row(found.row(rank), wanted->row(rank))) return "row() of rank " + std::to_string(rank);
      if (std::string fault = check_joint_search(query, *wanted); !fault.empty()) return fault;
      queries.push_back(query);
      expected.push_back(answers_of(*wanted));
    } catch (const InvalidArgument& error) {
      if (wanted) return std::string("refused: ") + error.what();
    }
    return "";
  }

  // A joint search has the answer or, if it ends early, rows none of which beats the answer's at its rank.
  std::string check_joint_search(const Query& query, const SearchResult& wanted) {
    const TableStatistics table = sharded_->statistics(query.scale);
    std::vector<std::shared_ptr<const Snapshot>> snapshots;
    std::vector<ResolvedQuery> resolved;
    for (std::uint32_t s = 0; s < sharded_->num_shards(); ++s) {
      snapshots.push_back(snapshot_of(sharded_->shard(s)));
      resolved.push_back(resolve(query, *snapshots.back(), &table));
    }
    std::vector<cpu::JointTree> trees;
    for (std::size_t s = 0; s < resolved.size(); ++s) trees.push_back({snapshots[s].get(), &resolved[s]});
    SearchStats stats;
    const std::size_t k = query.k.value_or(table.num_rows + 1);
    const auto most_visits = static_cast<std::uint64_t>(random_.between(0, 30));
    const cpu::JointAnswer found = cpu::search_jointly(trees, k, most_visits, stats);
    if (stats.nodes_visited + stats.leaves_visited > most_visits + trees.size()) return "visits";
    for (std::size_t i = 0; i < found.hits.size(); ++i)
      if (shard_of(found.hits[i].id, sharded_->num_shards()) != found.trees[i]) return "the tree of a hit";
    if (found.finished) return difference(found.hits, answers_of(wanted));
    if (found.hits.size() > wanted.hits.size()) return "an early end has too many hits";
    for (std::size_t i = 0; i < found.hits.size(); ++i)
      if (found.hits[i].score > wanted.hits[i].score) return "an early end has a hit that is none";
    return "";
  }

  std::int64_t some_id() { return rows_.empty() ? 3 : rows_[random_.below(rows_.size())].id; }

  std::string check_rows() {
    std::vector<std::int64_t> ids = {123'456'789'012'345, -1};
    for (int i = 0; i < 20; ++i) ids.push_back(some_id());
    const std::vector<std::optional<Row>> found = sharded_->get(ids), wanted = one_->get(ids);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (found[i].has_value() != wanted[i].has_value() || (found[i] && !is_same_row(*found[i], *wanted[i])))
        return "get(" + std::to_string(ids[i]) + ")" + doing_;
    return "";
  }

  // About a tenth of them.
  Filter some_ids() {
    std::vector<std::int64_t> ids;
    for (const Row& row : rows_)
      if (random_.chance(0.1)) ids.push_back(row.id);
    return Filter::ids_in(IdSet(ids));
  }

  // The same batch to both, which may refuse it.
  std::string change() {
    doing_ = "\n  a batch";
    WriteBatch batch;
    std::vector<Row> inserted = source_.draw_many(random_.below(40)), replacing;
    for (std::uint64_t count = random_.below(20); count > 0; --count) {
      replacing.push_back(source_.draw(some_id()));
    }
    if (random_.chance(0.1)) inserted.push_back(source_.draw(some_id()));  // it may be there
    RowTable::Shape shape;
    shape.shuffles_columns = random_.chance(0.3);
    shape.has_ids = !(source_.leaves_ids() && random_.chance(0.3));
    const RowTable new_rows(random_, source_.schema(), inserted, shape);
    shape.has_ids = true;
    const RowTable changed_rows(random_, source_.schema(), replacing, shape);
    std::vector<std::int64_t> erased;
    for (std::uint64_t count = random_.below(30); count > 0; --count) erased.push_back(some_id());
    const FieldOracle oracle(source_.schema(), rows_, {});
    const Filter where = FilterGenerator(random_, oracle).tree(random_.between(0, 3)) && some_ids();
    if (random_.chance(0.7)) batch.insert(new_rows.view());
    if (random_.chance(0.4)) batch.erase_where(where);
    if (random_.chance(0.7)) batch.upsert(changed_rows.view());
    if (random_.chance(0.7)) batch.erase(erased);
    const WriteOptions options{.round_to_float32 = precision_ == Precision::rounded_to_float32};
    std::optional<WriteResult> wanted;
    std::string refusal;
    std::uint64_t bad_row = 0;
    try {
      wanted = one_->write(batch, options);
    } catch (const RowError& error) {
      refusal = error.problem();
      bad_row = error.row();
    } catch (const Error& error) {
      refusal = error.what();
    }
    try {
      const WriteResult found = sharded_->write(batch, options);
      if (!wanted) return "a batch was taken that one index refuses: " + refusal;
      if (found.inserted != wanted->inserted || found.replaced != wanted->replaced ||
          found.erased != wanted->erased || found.first_id != wanted->first_id)
        return "the counts of a batch";
    } catch (const RowError& error) {
      if (wanted || refusal != error.problem() || bad_row != error.row())
        return std::string(error.what()) + ", and not: " + refusal;
    }
    rows_.insert(rows_.end(), inserted.begin(), inserted.end());
    return "";
  }

  std::string reopen() {
    if (random_.chance(0.5)) sharded_->checkpoint();
    sharded_->close();
    open();
    if (std::string fault = check("reopened"); !fault.empty()) return fault;
    if (std::string fault = change(); !fault.empty()) return fault;
    return check("changed after reopening");
  }

  std::string rebalance() {
    sharded_->close();
    ShardedIndex::rebalance(directory(), random_.pick<std::uint32_t>({1, 2, 3, 5, 16}), {.leaf_rows = 16});
    open();
    if (std::string fault = check("rebalanced"); !fault.empty()) return fault;
    if (std::string fault = change(); !fault.empty()) return fault;
    return check("changed after rebalancing");
  }

  const TemporaryDirectory temporary_;
  Random random_;
  Precision precision_;
  RowSource source_;
  std::vector<std::vector<double>> quantiles_;  // of the build; empty: it had no rows
  std::vector<Row> rows_;                       // rows that are or were in the index: for ids and limits
  std::optional<Index> one_;
  std::optional<ShardedIndex> sharded_;
  bool writes_within_limit_ = false;
  std::string doing_;
  std::uint64_t num_queries_ = 0, num_hits_ = 0, num_limited_ = 0;
};

TEST(ShardedIndex, AnswersAsOneIndexOfAllRows) {
  std::uint64_t num_queries = 0, num_hits = 0, num_limited = 0;
  const std::uint64_t cases = num_cases(20);
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    if (only_seed() != 0 && seed != only_seed()) continue;
    ShardedTrial trial(seed);
    ASSERT_EQ(trial.run(), "") << rerun_command(seed, "shard_test",
                                                "ShardedIndex.AnswersAsOneIndexOfAllRows");
    num_queries += trial.num_queries();
    num_hits += trial.num_hits();
    num_limited += trial.num_limited();
  }
  // A few cases may draw only queries that find little.
  if (ran_all_cases(20)) {
    EXPECT_GT(num_hits, num_queries);
    EXPECT_GT(num_limited, 10U);
  }
}

TableView one_column(const std::vector<double>& values, const std::vector<std::int64_t>& ids) {
  TableView table;
  table.num_rows = values.size();
  table.attributes = {{"a"}};
  table.columns = {ColumnView(values)};
  table.ids = ids;
  return table;
}

TEST(ShardedIndex, TiesAcrossShardsGoToTheSmallestIds) {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 500; id > 0; --id) ids.push_back(id * 3);
  const std::vector<double> values(ids.size(), 1.5);
  const TemporaryDirectory temporary;
  ShardedIndex::build(one_column(values, ids), temporary.path() / "s", {.num_shards = 8});
  const ShardedIndex index = ShardedIndex::open(temporary.path() / "s");
  for (const std::size_t k : {1U, 7U, 100U, 499U, 500U, 501U}) {
    const SearchResult result = index.search({.weights = {2}, .k = k});
    ASSERT_EQ(result.hits.size(), std::min<std::size_t>(k, 500));
    for (std::size_t rank = 0; rank < result.hits.size(); ++rank)
      ASSERT_EQ(result.hits[rank].id, static_cast<std::int64_t>(rank + 1) * 3);
  }
}

TEST(ShardedIndex, AnswersABatchInArraysOfTheCaller) {
  const std::vector<std::int64_t> ids = {5, 6, 7, 8, 9};
  const std::vector<double> values = {1, 3, 2, 5, 4};
  const TemporaryDirectory temporary;
  ShardedIndex::build(one_column(values, ids), temporary.path() / "s", {.num_shards = 2});
  const ShardedIndex index = ShardedIndex::open(temporary.path() / "s");
  const std::vector<double> weights = {1, -1, 2};
  for (const std::size_t k : {2U, 8U}) {
    const QueryBatch batch = {.weights = weights, .k = k};
    expect_in_arrays(index, batch, index.search_batch(batch));
    expect_arrays_are_checked(index, batch, weights.size());
  }
}

TEST(ShardedIndex, AShardWhoseBoundIsBelowTheFloorIsNotAsked) {
  std::vector<std::int64_t> ids;
  std::vector<double> values;
  for (std::int64_t id = 0; id < 4000; ++id) {
    ids.push_back(id);
    values.push_back(shard_of(id, 4) == 2 ? 10 + 1.0 / static_cast<double>(id + 1) : 1.0);
  }
  const TemporaryDirectory temporary;
  ShardedIndex::build(one_column(values, ids), temporary.path() / "s", {.num_shards = 4});
  const ShardedIndex index = ShardedIndex::open(temporary.path() / "s");
  const Query query{.weights = {1}, .k = 5};
  const SearchResult alone = index.shard(2).search(query), all = index.search(query);
  EXPECT_EQ(difference(all.hits, answers_of(alone)), "");
  EXPECT_EQ(all.stats.leaves_visited, alone.stats.leaves_visited);
}

TEST(ShardedIndex, WhatBoundsDoNotPruneIsLeftToTheEnginesOfTheShards) {
  Random random(7);
  const Table table = random_table(random, ValueClass::uniform_f64, 120'000, 10);
  const BuildOptions build{.partitioning = Partitioning::random, .leaf_rows = 16};
  const TemporaryDirectory temporary;
  ShardedIndex::build(table.view(), temporary.path() / "s", {.num_shards = 3, .build = build});
  const ShardedIndex index = ShardedIndex::open(temporary.path() / "s");
  const Query query{.weights = {1, -1, 1, -1, 1, -1, 1, -1, 1, -1}, .k = 4000};
  const SearchResult one = Index::build(table.view(), build).search(query, {.engine = Engine::scan});
  for (const Engine engine : {Engine::automatic, Engine::bounded})
    for (const int threads : {1, 2}) {
      const SearchResult found = index.search(query, {.engine = engine, .num_threads = threads});
      EXPECT_EQ(difference(found.hits, answers_of(one)), "");
      EXPECT_GT(found.stats.leaves_visited, 4096U);
    }
}

TEST(ShardedIndex, OpenShardsAreSearchedAsTheyAreNow) {
  const std::vector<std::int64_t> ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<double> values = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  const TemporaryDirectory temporary;
  ShardedIndex::build(one_column(values, ids), temporary.path() / "s", {.num_shards = 3});
  ShardedIndex whole = ShardedIndex::open(temporary.path() / "s", {.writable = true});
  const std::vector<Index> shards = {whole.shard(0), whole.shard(1), whole.shard(2)};
  ShardedIndex open = ShardedIndex::of(shards);
  const Query query{.weights = {1}, .k = 4};
  const std::vector<Answer> before = answers_of(whole.search(query));
  EXPECT_EQ(difference(open.search(query).hits, before), "");
  EXPECT_EQ(open.versions(), whole.versions());
  EXPECT_EQ(open.statistics(), whole.statistics());
  whole.erase(std::vector<std::int64_t>{5});
  EXPECT_EQ(difference(open.search(query).hits, before), "");
  EXPECT_THROW(open.erase(ids), InvalidArgument);
  EXPECT_THROW((void)ShardedIndex::of({}), InvalidArgument);
  const std::vector<Attribute> two = {{.name = "a"}, {.name = "b"}};
  const std::vector<Index> different = {shards[0], Index::create({.attributes = two})};
  EXPECT_THROW((void)ShardedIndex::of(different), FormatError);
}

TEST(ShardedIndex, DistributesRowsByADocumentedHash) {
  EXPECT_EQ(shard_of(0, 16), 0u);
  std::vector<int> counts(10);
  for (std::int64_t id = 0; id < 10'000; ++id) ++counts[shard_of(id, 10)];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
  // The finalizer of SplitMix64.
  Random reference(std::uint64_t{0} - 0x9e3779b97f4a7c15 + 42);
  EXPECT_EQ(shard_of(42, 1u << 12), static_cast<std::uint32_t>(reference.next() >> 52));
}

TEST(ShardedIndex, KeepsAssignedIdsAcrossHandles) {
  const std::vector<double> values = {1, 2, 3};
  const TemporaryDirectory temporary;
  ShardedIndex::build(one_column(values, {}), temporary.path() / "s", {.num_shards = 3});
  std::int64_t expected = 3;
  for (int round = 0; round < 4; ++round) {
    ShardedIndex index = ShardedIndex::open(temporary.path() / "s", {.writable = true});
    const WriteResult result = index.insert(one_column(values, {}));
    EXPECT_EQ(result.first_id, expected);
    expected += 3;
    const std::vector<std::int64_t> last = {expected - 1};
    EXPECT_EQ(index.erase(last), 1u);
    EXPECT_EQ(index.reserve_ids(10), expected);
    expected += 10;
  }
}

TEST(ShardedIndex, TheFirstRowsDetermineTheStandInsOfAllShards) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> none;
  const TemporaryDirectory temporary;
  const std::filesystem::path path = temporary.path() / "s";
  const ShardedBuildOptions options{.num_shards = 4, .build = {.value_type = ValueType::float64}};
  ShardedIndex::build(one_column(none, {}), path, options);
  ShardedIndex index = ShardedIndex::open(path, {.writable = true});
  ShardedIndex reader = ShardedIndex::open(path);
  EXPECT_FALSE(index.statistics().attributes[0].stand_in.has_value());
  EXPECT_TRUE(index.search({.weights = {1}, .k = 3}).hits.empty());
  const std::vector<std::uint64_t> before = index.versions();
  const std::vector<double> values = {5, missing, 3, 8, missing, 7, 4, missing};
  const std::vector<std::int64_t> ids = {1, 2, 3, 4, 5, 6, 7, 8};
  const TableView rows = one_column(values, ids);
  EXPECT_EQ(index.write_once(WriteBatch().insert(rows), before).inserted, 8u);
  EXPECT_TRUE(index.write_once(WriteBatch().insert(rows), before).repeated);
  EXPECT_EQ(index.statistics().attributes[0].stand_in, std::optional<double>(3));
  for (std::uint32_t s = 0; s < 4; ++s)
    EXPECT_EQ(index.shard(s).statistics().attributes[0].stand_in, std::optional<double>(3));
  EXPECT_EQ(reader.refresh(), Refreshed::replaced);
  EXPECT_EQ(reader.info().num_rows, 8u);
}

TEST(ShardedIndex, StandInsOfAllRowsCountInTheScale) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> a = {1, missing, 3, 2, 5, 4}, b = {9, 8, 1, 2, 4, 3};
  TableView table = one_column(a, {});
  table.attributes = {{"a"}, {"b"}};
  table.attributes[0].stand_in = StandIn::number;
  table.attributes[0].number = 100;
  table.columns.emplace_back(b);
  const TemporaryDirectory temporary;
  ShardedIndex::build(table, temporary.path() / "s", {.num_shards = 3});
  const ShardedIndex index = ShardedIndex::open(temporary.path() / "s");
  const Index one = Index::build(table);
  for (const Missing rule : {Missing::fill, Missing::skip})
    for (const Scale scale : {Scale::minmax, Scale::zscore, Scale::rank}) {
      const Query query{.weights = {1, 1}, .k = 10, .scale = scale, .missing = rule};
      EXPECT_EQ(difference(index.search(query).hits, answers_of(one.search(query))), "");
    }
}

// Shards that were built apart have quantiles of their own.
TEST(ShardedIndex, RanksByTheQuantilesThatAllShardsHave) {
  const std::vector<double> low = {1, 2, 3}, high = {4, 5, 6};
  const std::vector<std::int64_t> first = {1, 2, 3}, second = {4, 5, 6};
  const Query query{.weights = {1}, .k = 6, .scale = Scale::rank};
  const BuildOptions alone{.stand_ins = {0}};
  const std::vector<Index> apart = {Index::build(one_column(low, first), alone),
                                    Index::build(one_column(high, second), alone)};
  EXPECT_THROW(static_cast<void>(ShardedIndex::of(apart).search(query)), InvalidArgument);
  EXPECT_EQ(ShardedIndex::of(apart).search({.weights = {1}, .k = 6}).hits.size(), 6u);
  const BuildOptions together{.stand_ins = {0}, .quantiles = {{1, 2, 3, 4, 5, 6}}};
  const std::vector<Index> parts = {Index::build(one_column(low, first), together),
                                    Index::build(one_column(high, second), together)};
  EXPECT_EQ(ShardedIndex::of(parts).search(query).hits[1].score, 0.8);
}

TEST(ShardedIndex, RebalancingKeepsHowShardsWereBuilt) {
  std::vector<double> values;
  for (int i = 0; i < 500; ++i) values.push_back(i);
  const TemporaryDirectory temporary;
  const std::filesystem::path path = temporary.path() / "s";
  ShardedIndex::build(one_column(values, {}), path,
                      {.num_shards = 2, .build = {.partitioning = Partitioning::random, .leaf_rows = 32}});
  ShardedIndex::rebalance(path, 3);
  const IndexInfo info = ShardedIndex::open(path).info();
  EXPECT_EQ(info.partitioning, Partitioning::random);
  EXPECT_EQ(info.leaf_rows, 32);
  EXPECT_EQ(info.num_rows, 500u);
  // A shard that another process writes to is not read half.
  const Index writer = Index::open(path / "shard-2-0", {.writable = true});
  EXPECT_THROW(ShardedIndex::rebalance(path, 2), IoError);
}

TEST(ShardedIndex, ReadersSeeABatchAfterRefresh) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8};
  const TemporaryDirectory temporary;
  ShardedIndex::build(one_column(values, {}), temporary.path() / "s", {.num_shards = 3});
  ShardedIndex writer = ShardedIndex::open(temporary.path() / "s", {.writable = true});
  ShardedIndex reader = ShardedIndex::open(temporary.path() / "s");
  const ShardedIndex before = reader.snapshot();
  EXPECT_EQ(reader.refresh(), Refreshed::unchanged);
  const std::vector<double> more = {100, 0};
  writer.insert(one_column(more, {}));
  EXPECT_EQ(reader.refresh(), Refreshed::advanced);
  const Query query{.weights = {1}, .k = 1, .scale = Scale::minmax};
  EXPECT_EQ(reader.search(query).hits.front().id, 8);
  EXPECT_EQ(reader.search(query).versions(), writer.versions());
  EXPECT_EQ(before.search(query).hits.front().id, 7);
  EXPECT_EQ(before.search(query).hits.front().score, 1.0);
  writer.close();
  ShardedIndex::rebalance(temporary.path() / "s", 5);
  EXPECT_EQ(reader.refresh(), Refreshed::replaced);
  EXPECT_EQ(reader.num_shards(), 5u);
  EXPECT_EQ(reader.search(query).hits.front().id, 8);
}

// A shard behind a log answers such a query from one tree, in which rows have other numbers.
TEST(ShardedIndex, GroupsBehindALogShowTheirOwnRows) {
  std::vector<double> values(300), more(200);
  for (std::size_t row = 0; row < values.size(); ++row) values[row] = static_cast<double>(row * 7 % 100);
  for (std::size_t row = 0; row < more.size(); ++row) more[row] = static_cast<double>(row * 7 % 150);
  const TemporaryDirectory temporary;
  ShardedIndex::build(one_column(values, {}), temporary.path() / "s", {.num_shards = 3});
  ShardedIndex writer = ShardedIndex::open(temporary.path() / "s", {.writable = true});
  writer.insert(one_column(more, {}));
  const ShardedIndex reader = ShardedIndex::open(temporary.path() / "s", {.loading = Loading::on_touch});
  Query query{.weights = {1}, .k = 150};
  query.per = RowsPer{"a", 1};
  const SearchResult result = reader.search(query);
  ASSERT_EQ(result.hits.size(), 150u);
  query.k = 7;
  query.after = Cursor{.score = result.hits[99].score, .id = result.hits[99].id};
  const SearchResult page = reader.search(query);
  ASSERT_EQ(page.hits.size(), 7u);
  for (std::size_t rank = 0; rank < page.hits.size(); ++rank) {
    EXPECT_EQ(page.hits[rank].id, result.hits[100 + rank].id);
    EXPECT_EQ(page.attribute(rank, 0), page.hits[rank].score);
  }
  for (std::size_t rank = 0; rank < result.hits.size(); ++rank) {
    EXPECT_EQ(result.hits[rank].score, 149 - static_cast<double>(rank));
    EXPECT_EQ(result.attribute(rank, 0), result.hits[rank].score);
    EXPECT_EQ(result.row(rank).id, result.hits[rank].id);
  }
}

TEST(ShardedIndex, ABatchThatEndedInTheMiddleIsCompletedByItsRepetition) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 100; id < 112; ++id) ids.push_back(id);
  const TemporaryDirectory temporary;
  ShardedIndex::build(one_column(values, {}), temporary.path() / "s", {.num_shards = 3});
  const std::vector<std::uint64_t> before = ShardedIndex::open(temporary.path() / "s").versions();
  {  // the part of shard 1 alone
    std::vector<double> own_values;
    std::vector<std::int64_t> own_ids;
    for (std::size_t row = 0; row < ids.size(); ++row)
      if (shard_of(ids[row], 3) == 1) {
        own_values.push_back(values[row]);
        own_ids.push_back(ids[row]);
      }
    ASSERT_FALSE(own_ids.empty());
    Index::open(temporary.path() / "s" / "shard-1-1", {.writable = true})
        .insert(one_column(own_values, own_ids));
  }
  ShardedIndex index = ShardedIndex::open(temporary.path() / "s", {.writable = true});
  EXPECT_EQ(index.info().num_rows, 12 + static_cast<std::uint64_t>(std::ranges::count_if(
                                            ids, [](std::int64_t id) { return shard_of(id, 3) == 1; })));
  WriteBatch batch;
  const TableView rows = one_column(values, ids);
  batch.insert(rows);
  EXPECT_THROW(index.write(batch), RowError);
  EXPECT_FALSE(index.write_once(batch, before).repeated);
  EXPECT_EQ(index.info().num_rows, 24u);
  const std::vector<std::uint64_t> after = index.versions();
  EXPECT_TRUE(index.write_once(batch, before).repeated);
  EXPECT_EQ(index.versions(), after);
  EXPECT_THROW(index.write_once(batch, std::vector<std::uint64_t>(3, 77)), InvalidArgument);
  EXPECT_THROW(index.write_once(batch, std::vector<std::uint64_t>(2, 1)), InvalidArgument);
  EXPECT_THROW(index.write_once(WriteBatch().insert(one_column(values, {})), after), InvalidArgument);
  EXPECT_EQ(index.versions(), after);
}

// Which row a shard refuses is found by making the steps again, one by one.
TEST(ShardedIndex, NamesTheRowThatIsRefusedAfterAFilter) {
  const std::vector<double> values = {1, 2, 3, 4}, more = {7, 8};
  const std::vector<std::int64_t> ids = {0, 2};  // the first is erased before
  const TemporaryDirectory temporary;
  ShardedIndex::build(one_column(values, {}), temporary.path() / "s", {.num_shards = 1});
  ShardedIndex index = ShardedIndex::open(temporary.path() / "s", {.writable = true});
  try {
    index.write(WriteBatch().erase_where(col("a") < 2).insert(one_column(more, ids)));
    FAIL() << "id 2 was inserted twice";
  } catch (const RowError& error) {
    EXPECT_EQ(error.row(), 1u);
  }
  EXPECT_EQ(index.ids_where({}), (std::vector<std::int64_t>{0, 1, 2, 3}));
}

// Shards without rows that pass stay at their version.
TEST(ShardedIndex, ABatchWithAFilterIsRepeated) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, more = {20};
  const std::vector<std::int64_t> id = {100};
  const TemporaryDirectory temporary;
  ShardedIndex::build(one_column(values, {}), temporary.path() / "s", {.num_shards = 3});
  ShardedIndex index = ShardedIndex::open(temporary.path() / "s", {.writable = true});
  const std::vector<std::uint64_t> before = index.versions();
  const TableView rows = one_column(more, id);
  const WriteBatch batch = WriteBatch().insert(rows).erase_where(col("a") < 1.5);
  const WriteResult result = index.write_once(batch, before);
  EXPECT_FALSE(result.repeated);
  EXPECT_EQ(result.erased, 1u);
  const std::vector<std::uint64_t> after = index.versions();
  EXPECT_NE(std::ranges::mismatch(before, after, std::not_equal_to()).in1, before.end());  // one stayed
  EXPECT_TRUE(index.write_once(batch, before).repeated);
  EXPECT_EQ(index.versions(), after);
  EXPECT_EQ(index.ids_where(col("a") > 11), (std::vector<std::int64_t>{11, 100}));
}

TEST(Index, ABatchThatIsRepeatedChangesNothing) {
  const std::vector<double> values = {1, 2, 3};
  const std::vector<std::int64_t> ids = {10, 11, 12};
  Index index = Index::build(one_column({values[0]}, {}), {});
  const std::uint64_t before = index.version();
  const TableView rows = one_column(values, ids);
  const WriteResult first = index.insert(rows, {.expected_version = before});
  EXPECT_EQ(first.inserted, 3u);
  EXPECT_FALSE(first.repeated);
  const WriteResult second = index.insert(rows, {.expected_version = before});
  EXPECT_TRUE(second.repeated);
  EXPECT_EQ(second.version, first.version);
  EXPECT_EQ(second.inserted, 0u);
  EXPECT_EQ(index.info().num_rows, 4u);
  EXPECT_THROW(index.insert(rows, {.expected_version = before + 7}), InvalidArgument);
  EXPECT_THROW(index.check(WriteBatch().insert(rows)), RowError);
  EXPECT_EQ(index.version(), first.version);
}

}  // namespace
}  // namespace culmen::test
