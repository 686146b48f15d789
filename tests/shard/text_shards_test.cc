// Sharded indexes whose ids are texts, against one index of all rows: the same texts and score bits. Each shard has numbers
// of its own that stand in for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/row_reader.h"
#include "culmen/sharded_index.h"
#include "culmen/update.h"
#include "tests/cases.h"
#include "tests/error_of.h"
#include "tests/harness.h"
#include "tests/sku_rows.h"

namespace culmen::test {
namespace {

// One index and shards of the same rows, and these.
class TextShardsTrial {
 public:
  explicit TextShardsTrial(std::uint64_t seed) : random_(seed) {}

  void run() {
    build();
    for (int course = 0; course < 4 && !testing::Test::HasFailure(); ++course) {
      check();
      change();
      check();
      rearrange();
    }
    check();
  }

  std::uint64_t num_hits() const { return num_hits_; }

 private:
  std::filesystem::path directory() const { return temporary_.path() / "shards"; }

  void build() {
    std::vector<std::string> texts;
    for (int i = random_.between(0, 200); i > 0; --i) texts.push_back(random_text(random_));
    some_ids_ = IdSet(std::vector<std::string_view>(texts.begin(), texts.end()));
    rows_ = random_skus(random_, random_.pick({0, 1, 5, 60, 400}));
    const SkuTable table(rows_, random_);
    ShardedBuildOptions options{.num_shards = random_.pick<std::uint32_t>({1, 2, 3, 7})};
    options.build.leaf_rows = 16;
    if (rows_.empty()) options.build.value_type = ValueType::float64;
    if (random_.chance(0.3)) options.build.temp_directory = temporary_.path().string();
    one_ = Index::build(table.view(), options.build);
    ShardedIndex::build(table.view(), directory(), options);
    open();
  }

  void open() {
    sharded_ = std::nullopt;
    sharded_ = ShardedIndex::open(directory(), {.writable = true, .durability = Durability::os});
  }

  void rearrange() {
    if (random_.chance(0.3)) sharded_->compact();
    if (random_.chance(0.5)) return;
    sharded_->close();
    if (random_.chance(0.5))
      ShardedIndex::rebalance(directory(), random_.pick<std::uint32_t>({1, 2, 3, 5, 16}));
    open();
  }

  // By the writer, and by a reader that has the logs beside its trees.
  void check() {
    check_by(*sharded_);
    if (random_.chance(0.5)) return;
    sharded_->flush();
    check_by(ShardedIndex::open(directory(), {.loading = Loading::on_touch}));
  }

  void check_by(const ShardedIndex& shards) {
    EXPECT_EQ(shards.verify(), std::vector<std::string>{});
    EXPECT_EQ(shards.info().num_rows, rows_.size());
    EXPECT_EQ(shards.schema().id_type, IdType::text);
    EXPECT_EQ(shards.info().next_id, 0);
    std::vector<Query> queries;
    for (int q = 0; q < 12; ++q) {
      queries.push_back(random_query());
      check_query(shards, queries.back());
    }
    const std::vector<SearchResult> results = shards.search(queries), expected = one_->search(queries);
    for (std::size_t q = 0; q < queries.size(); ++q) EXPECT_EQ(skus_of(results[q]), skus_of(expected[q]));
    check_pages(shards);
    check_rows(shards);
  }

  std::string some_text() {
    if (rows_.empty() || random_.chance(0.3)) return random_text(random_);
    return std::next(rows_.begin(), static_cast<std::ptrdiff_t>(random_.below(rows_.size())))->first;
  }

  Filter random_condition() {
    const std::string text = some_text();
    switch (random_.between(0, 8)) {
      case 0:
        return id_col() == text;
      case 7:
        return Filter::ids_in(some_ids_);
      case 8:
        return !Filter::ids_in(some_ids_) && col("f") <= 4;
      case 1:
        return id_col() < text;
      case 2:
        return id_col() > text || col("f") == 2;
      case 3:
        return col("sku").starts_with(text.substr(0, 1));
      case 4:
        return !id_col().in({text, some_text(), some_text()});
      case 5:
        return id_col().in({text, some_text(), some_text()});
      default:
        return col("f") <= 3;
    }
  }

  Query random_query() {
    Query query{.weights = {static_cast<double>(random_.between(-2, 2)), 1}};
    query.k = static_cast<std::size_t>(random_.pick({1, 2, 7, 40, 1000}));
    if (random_.chance(0.5)) query.where = random_condition();
    if (random_.chance(0.2)) query.min_score = random_.between(-2, 3);
    if (random_.chance(0.2) && query.min_score) query.k = std::nullopt;
    if (random_.chance(0.3)) query.scale = random_.pick({Scale::minmax, Scale::zscore});
    if (random_.chance(0.3)) {
      query.after = Cursor{.score = static_cast<double>(random_.between(-3, 4)), .text = some_text()};
    }
    if (random_.chance(0.3)) {
      query.per =
          RowsPer{random_.pick<std::string>({"a", "f"}), static_cast<std::size_t>(random_.between(1, 3))};
    }
    return query;
  }

  void check_query(const ShardedIndex& shards, const Query& query) {
    const SearchOptions options{.engine = random_.pick({Engine::automatic, Engine::bounded, Engine::scan}),
                                .num_threads = random_.between(0, 2)};
    const std::vector<RankedSku> expected = skus_of(one_->search(query));
    EXPECT_EQ(skus_of(shards.search(query, options)), expected);
    num_hits_ += expected.size();
    const Cursor place{.score = static_cast<double>(random_.between(-3, 4)), .text = some_text()};
    EXPECT_EQ(shards.count_before(query, place), one_->count_before(query, place));
    EXPECT_EQ(shards.count_above(query, place.score), one_->count_above(query, place.score));
    const std::optional<RowRank> rank = shards.rank_of(query, *place.text),
                                 wanted = one_->rank_of(query, *place.text);
    ASSERT_EQ(rank.has_value(), wanted.has_value());
    if (!rank) return;
    EXPECT_EQ(rank->rank, wanted->rank);
    EXPECT_EQ(rank->score, wanted->score);
  }

  // Page by page, each from the text of the last row before.
  void check_pages(const ShardedIndex& shards) {
    Query query{.weights = {1, 1}, .k = static_cast<std::size_t>(random_.between(20, 200))};
    std::vector<RankedSku> joined;
    for (std::vector<RankedSku> page; !(page = skus_of(shards.search(query))).empty();) {
      joined.insert(joined.end(), page.begin(), page.end());
      query.after = Cursor{.score = page.back().score, .text = page.back().text};
    }
    EXPECT_EQ(joined, best_skus(rows_, query.weights, rows_.size(), [](const std::string&) { return true; }));
  }

  void check_rows(const ShardedIndex& shards) {
    std::vector<std::string> asked;
    for (int i = 0; i < 20; ++i) asked.push_back(some_text());
    const std::vector<std::string_view> texts(asked.begin(), asked.end());
    const std::vector<std::optional<Row>> found = shards.get(texts);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto row = rows_.find(asked[i]);
      ASSERT_EQ(found[i].has_value(), row != rows_.end()) << asked[i];
      EXPECT_EQ(shards.contains(texts[i]), row != rows_.end());
      if (row == rows_.end()) continue;
      EXPECT_EQ(found[i]->label, asked[i]);
      EXPECT_EQ(values_of_sku(*found[i]), row->second);
    }
    Skus read;
    RowReader reader(shards);
    for (std::vector<Row> part; !(part = reader.next(100)).empty();)
      for (const Row& row : part) EXPECT_TRUE(read.emplace(row.label, values_of_sku(row)).second);
    EXPECT_EQ(read, rows_);
  }

  // The same batch to both, which may refuse it.
  void change() {
    const Skus inserted = random_skus(random_, random_.between(0, 6)),
               upserted = random_skus(random_, random_.between(0, 30));
    std::vector<std::string> erased;
    for (int i = random_.between(0, 30); i > 0; --i) erased.push_back(some_text());
    const SkuTable insert(inserted, random_), upsert(upserted, random_);
    const std::vector<std::string_view> erase(erased.begin(), erased.end());
    WriteBatch batch;
    batch.upsert(upsert.view()).erase(erase).insert(insert.view());
    const bool erases_where = random_.chance(0.3);
    if (erases_where) batch.erase_where(col("f") == 3 && id_col() > "a");
    std::optional<WriteResult> wanted;
    std::string refusal;
    try {
      wanted = one_->write(batch);
    } catch (const RowError& error) {
      refusal = error.what();
    }
    try {
      const WriteResult found = sharded_->write(batch);
      ASSERT_TRUE(wanted) << "one index says " << refusal;
      EXPECT_EQ(found.inserted, wanted->inserted);
      EXPECT_EQ(found.replaced, wanted->replaced);
      EXPECT_EQ(found.erased, wanted->erased);
      EXPECT_EQ(found.first_id, -1);
    } catch (const RowError& error) {
      EXPECT_EQ(refusal, error.what());
      return;
    }
    for (const auto& [text, values] : upserted) rows_[text] = values;
    for (const std::string& text : erased) rows_.erase(text);
    rows_.insert(inserted.begin(), inserted.end());
    if (erases_where)
      std::erase_if(rows_, [](const auto& row) { return row.second.field == 3 && row.first > "a"; });
  }

  const TemporaryDirectory temporary_;
  Random random_;
  Skus rows_;
  IdSet some_ids_;  // one set for all versions
  std::optional<Index> one_;
  std::optional<ShardedIndex> sharded_;
  std::uint64_t num_hits_ = 0;
};

TEST(TextShards, AnswerAsOneIndexOfAllRows) {
  std::uint64_t num_hits = 0;
  for (std::uint64_t seed = 1; seed <= num_cases(40); ++seed) {
    if (only_seed() != 0 && seed != only_seed()) continue;
    SCOPED_TRACE(rerun_command(seed, "shard_test", "TextShards.*"));
    TextShardsTrial trial(seed);
    trial.run();
    if (HasFailure()) return;
    num_hits += trial.num_hits();
  }
  if (ran_all_cases(40)) {
    EXPECT_GT(num_hits, 10'000u);
  }
}

TEST(TextShards, RowsAreRoutedByADocumentedHash) {
  // XXH3_64bits of these bytes, as the specification of xxHash has them.
  EXPECT_EQ(shard_of(std::string_view(), 1u << 12), 0x2d06800538d394c2u >> 52);
  std::vector<int> counts(10);
  for (int i = 0; i < 10'000; ++i) ++counts[shard_of(std::to_string(i), 10)];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(TextShards, TiesAcrossShardsGoToTheSmallestTexts) {
  Random random(3);
  Skus rows;
  for (int i = 0; i < 500; ++i) rows[std::to_string(i * 7919 % 5000)] = {{1, 0}, {}};
  const TemporaryDirectory temporary;
  ShardedIndex::build(SkuTable(rows, random).view(), temporary.path() / "s", {.num_shards = 8});
  const ShardedIndex index = ShardedIndex::open(temporary.path() / "s");
  for (const Engine engine : {Engine::automatic, Engine::bounded, Engine::scan, Engine::ta, Engine::gta})
    for (const std::size_t k : {1, 3, 100, 499, 600})
      EXPECT_EQ(skus_of(index.search({.weights = {1, 1}, .k = k}, {.engine = engine})),
                best_skus(rows, {1, 1}, k, [](const std::string&) { return true; }));
}

TEST(TextShards, UpdatesKeepOtherColumns) {
  Random random(1);
  const TemporaryDirectory temporary;
  ShardedIndex::build(SkuTable({{"x", {{1, 3}, 7}}, {"y", {{2, 4}, 8}}}, random).view(),
                      temporary.path() / "s", {.num_shards = 2});
  ShardedIndex index = ShardedIndex::open(temporary.path() / "s", {.writable = true});
  const std::vector<double> values = {9};
  TableView table = row_major_table(std::span<const double>(values), {{"a"}});
  Labels texts;
  texts.append("y");
  table.labels = texts.view();
  table.id_type = IdType::text;
  EXPECT_EQ(update(index, table).replaced, 1u);
  EXPECT_EQ(values_of_sku(*index.get("y")), (SkuValues{{9, 4}, 8}));
  Labels others;
  others.append("w");
  table.labels = others.view();
  EXPECT_EQ(error_of<RowError>([&] { update(index, table); }),
            "row 1: id \"w\" is not in the index; upsert inserts rows");
}

TEST(TextShards, OneOfSeveralRowsWithATextIsKept) {
  Random random(1);
  SkuTable table({}, random);
  for (const double a : {1.0, 2.0, 3.0}) table.add(a == 2 ? "x" : "y", {{a, 0}, {}});
  const TemporaryDirectory temporary;
  ShardedBuildOptions options{.num_shards = 3};
  EXPECT_EQ(
      error_of<InputError>([&] { ShardedIndex::build(table.view(), temporary.path() / "none", options); }),
      "row 3: id \"y\" stands in row 1 as well; ids must be unique");
  EXPECT_FALSE(std::filesystem::exists(temporary.path() / "none"));
  for (const Duplicates duplicates : {Duplicates::first, Duplicates::last}) {
    options.build.duplicates = duplicates;
    options.overwrite = true;
    ShardedIndex::build(table.view(), temporary.path() / "s", options);
    const ShardedIndex index = ShardedIndex::open(temporary.path() / "s");
    EXPECT_EQ(index.info().num_rows, 2u);
    EXPECT_EQ(index.get("y")->values[0], duplicates == Duplicates::first ? 1 : 3);
  }
}

// Numbers that stand in for texts are of one shard, and no call of all shards takes or gives them.
TEST(TextShards, CallsOfNumbersAreRefused) {
  Random random(1);
  const TemporaryDirectory temporary;
  ShardedIndex::build(SkuTable({{"x", {{1, 1}, {}}}, {"y", {{2, 1}, {}}}}, random).view(),
                      temporary.path() / "s", {.num_shards = 2});
  ShardedIndex index = ShardedIndex::open(temporary.path() / "s", {.writable = true});
  const std::vector<std::int64_t> ids = {1};
  const std::vector<double> weights = {1, 1};
  const Query query{.weights = weights, .k = 1};
  const auto refused = [](const auto& call) { return error_of<InvalidArgument>(call); };
  const std::string are_texts = " has numbers for ids, and those of this sharded index are texts";
  EXPECT_EQ(refused([&] { static_cast<void>(index.get(1)); }), "get of an int64" + are_texts);
  EXPECT_EQ(refused([&] { static_cast<void>(index.contains(1)); }), "contains of an int64" + are_texts);
  EXPECT_EQ(refused([&] { static_cast<void>(index.rank_of(query, 1)); }), "rank_of an int64" + are_texts);
  EXPECT_EQ(refused([&] { static_cast<void>(index.ids_where({})); }), "ids_where" + are_texts);
  EXPECT_EQ(refused([&] { static_cast<void>(index.search_batch({.weights = weights, .k = 1})); }),
            "search_batch" + are_texts);
  EXPECT_EQ(refused([&] {
              static_cast<void>(index.count_before(query, {1, 2}));
            }),
            "a cursor without a text" + are_texts);
  Query page = query;
  page.after = Cursor{1, 2};
  EXPECT_EQ(refused([&] { static_cast<void>(index.search(page)); }),
            "the ids of the index are texts: `after` needs the text of the last row before");
  for (const std::vector<std::int64_t>& some : {ids, {}})
    EXPECT_EQ(refused([&] { index.erase(some); }), "the ids of the index are texts: erase by texts");
  EXPECT_EQ(refused([&] { static_cast<void>(index.reserve_ids(1)); }),
            "an index whose ids are text assigns none: give the rows ids");
  EXPECT_EQ(index.erase(std::vector<std::string_view>{"x", "none"}), 1u);
}

TEST(TextShards, AreAllOfTexts) {
  Random random(1);
  const SkuTable table({{"x", {{1, 1}, {}}}}, random);
  TableView numbers = table.view();
  numbers.labels = {};
  numbers.id_type = IdType::int64;
  const std::array shards = {Index::build(table.view()), Index::build(numbers)};
  EXPECT_THROW(static_cast<void>(ShardedIndex::of(shards)), FormatError);
  EXPECT_EQ(skus_of(ShardedIndex::of(std::span(shards).first(1)).search({.weights = {1, 1}, .k = 1})).size(),
            1u);
}

}  // namespace
}  // namespace culmen::test
