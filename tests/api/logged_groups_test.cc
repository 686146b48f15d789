// Rows of each group (Query::per) for readers that keep a log beside their files' tree: the answers of one tree of all rows, with
// and without a limit of memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "index/logged_rows.h"
#include "index/snapshot.h"
#include "tests/cases.h"
#include "tests/field_tables.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

const Schema kSchema = {.attributes = {{"x"}, {"y", Preference::low}, {"grade"}},
                        .fields = {{"price", FieldRole::filter, {ColumnType::floating}},
                                   {"stars", FieldRole::filter, {ColumnType::integer}},
                                   {"brand", FieldRole::filter, {ColumnType::text}},
                                   {"note", FieldRole::stored, {ColumnType::text}},
                                   {"shop", FieldRole::filter, {ColumnType::text}}}};
const std::vector<std::string> kColumns = {"x", "y", "grade", "price", "stars", "brand", "shop"};

// A writer, which has one tree of all rows, and readers of its directory.
class LoggedTable {
 public:
  LoggedTable(Random& random, std::int64_t num_rows, int num_groups)
      : random_(random), num_groups_(num_groups), next_id_(num_rows) {
    const RowTable table(random, kSchema, rows_of(0, num_rows));
    Index::build(table.view(), {.leaf_rows = 16}).save(folder_.path() / "index");
    writer_ = Index::open(folder_.path() / "index", {.writable = true, .durability = Durability::os});
  }

  Index open(std::uint64_t max_memory) const {
    return Index::open(folder_.path() / "index", {.loading = Loading::on_touch, .max_memory = max_memory});
  }

  // One batch to the log. Its rows have texts that were not there.
  void change(int most_rows) {
    first_text_ += random_.between(0, 3);
    std::vector<culmen::Row> rows = rows_of(next_id_, next_id_ + random_.between(0, most_rows));
    next_id_ += static_cast<std::int64_t>(rows.size());
    std::vector<std::int64_t> old_ids, erased;
    for (int i = random_.between(0, most_rows); i > 0; --i) old_ids.push_back(some_id());
    std::ranges::sort(old_ids);
    for (std::size_t i = 0; i < old_ids.size(); ++i) {
      if (i > 0 && old_ids[i] == old_ids[i - 1]) continue;
      if (random_.chance(0.5)) {
        erased.push_back(old_ids[i]);
      } else {
        rows.push_back(row_of(old_ids[i]));
      }
    }
    const RowTable table(random_, kSchema, rows);
    writer_->write(WriteBatch().upsert(table.view()).erase(erased));
  }

  Index whole() const { return writer_->snapshot(); }
  std::int64_t some_id() const {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(next_id_)));
  }
  std::string some_brand() const { return "brand " + std::to_string(group()); }

 private:
  int group() const { return random_.between(0, num_groups_ - 1); }

  culmen::Row row_of(std::int64_t id) {
    const double gap = std::numeric_limits<double>::quiet_NaN();
    const auto field = [&](FieldValue value) {
      return random_.chance(0.1) ? FieldValue() : std::move(value);
    };
    return {id,
            {random_.uniform(-1, 1), static_cast<double>(random_.between(-3, 3)),
             random_.chance(0.1) ? gap : group() / 4.0},
            "",
            {field(group() * 1.5), field(std::int64_t{group()}),
             field("brand " + std::to_string(first_text_ + group())), std::string("n"),
             field("shop " + std::to_string(random_.between(0, 3)))}};
  }
  std::vector<culmen::Row> rows_of(std::int64_t first, std::int64_t last) {
    std::vector<culmen::Row> rows;
    for (std::int64_t id = first; id < last; ++id) rows.push_back(row_of(id));
    return rows;
  }

  Random& random_;
  const int num_groups_;
  std::int64_t next_id_;
  int first_text_ = 0;
  const TemporaryDirectory folder_;
  std::optional<Index> writer_;
};

Query random_group_query(Random& random, const LoggedTable& table) {
  Query query = {.weights = {random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)}};
  if (random.chance(0.3)) query.weights = {0, 1, 0};  // nearly all tie
  query.k = random.pick<std::size_t>({1, 10, 50, 300, 100'000});
  query.per = RowsPer{kColumns[random.below(kColumns.size())], 1 + random.below(3)};
  if (random.chance(0.3)) query.where = col("stars") != 1;
  if (random.chance(0.2)) query.where = query.where && col("brand") >= table.some_brand();
  if (random.chance(0.1)) query.where = query.where && col("id").in({table.some_id(), table.some_id()});
  if (random.chance(0.3)) {
    query.min_score = random.uniform(-1, 2);
    if (random.chance(0.5)) query.k.reset();
  }
  if (random.chance(0.3)) query.terms.push_back(ScoreTerm::near("grade", random.uniform(0, 3)).times(-2));
  if (random.chance(0.2)) query.scale = random.pick({Scale::minmax, Scale::zscore, Scale::rank});
  if (random.chance(0.3)) query.missing = Missing::fill;
  return query;
}

// Of the whole order: any place, also one that is no row's.
Cursor random_place_of(const Index& whole, Query query, Random& random) {
  query.k = 1 + random.below(400);
  query.per.reset();
  const std::vector<Hit> order = whole.search(query).hits;
  if (order.empty()) return Cursor{random.uniform(-1, 1), 5, {}};
  return Cursor{order.back().score, order.back().id + random.between(-1, 1), {}};
}

std::string difference_of_groups(const SearchResult& found, const SearchResult& expected) {
  std::vector<Answer> answers;
  for (const Hit& hit : expected.hits) answers.push_back({hit.id, hit.score});
  if (std::string fault = difference(found.hits, answers); !fault.empty()) return fault;
  for (std::size_t rank = 0; rank < answers.size() && rank < 3; ++rank)
    if (found.row(rank).fields != expected.row(rank).fields) return "another row";
  return "";
}

bool has_two_trees(const Index& index) {
  return version_of(index)->logged != nullptr;
}

TEST(LoggedGroups, AreThoseOfOneTree) {
  constexpr std::uint64_t kDefaultTables = 4;
  std::uint64_t num_pages = 0, num_short = 0, num_hits = 0;
  for (std::uint64_t seed = 1; seed <= num_cases(kDefaultTables); ++seed) {
    Random random(seed);
    LoggedTable table(random, random.pick({40, 2'000, 6'000}), random.pick({2, 7, 40, 90}));
    table.change(random.pick({3, 200, 3'000}));
    std::vector<Index> readers = {table.open(kUnlimitedMemory), table.open(1), table.open(100'000)};
    for (int step = 0; step < 4; ++step) {
      const Index whole = table.whole();
      std::vector<Query> batch;
      for (int q = 0; q < 16; ++q) {
        Query query = random_group_query(random, table);
        if (random.chance(0.4)) query.after = random_place_of(whole, query, random);
        const SearchResult expected = whole.search(query);
        num_pages += query.after ? 1 : 0;
        num_short += query.k && expected.hits.size() < *query.k ? 1 : 0;
        num_hits += expected.hits.size();
        for (const Index& reader : readers) {
          const Engine engine = random.pick({Engine::automatic, Engine::scan, Engine::ta});
          ASSERT_EQ(difference_of_groups(reader.search(query, {.engine = engine}), expected), "")
              << "seed " << seed << ", step " << step << ", per " << query.per->column << ": "
              << query.per->most << ", " << describe(query);
        }
        batch.push_back(query);
      }
      for (const Index& reader : readers) {
        const std::vector<SearchResult> found = reader.search(batch, {.num_threads = random.between(1, 2)});
        for (std::size_t q = 0; q < batch.size(); ++q)
          ASSERT_EQ(difference_of_groups(found[q], whole.search(batch[q])), "") << "seed " << seed;
        EXPECT_TRUE(has_two_trees(reader));
      }
      table.change(300);
      for (Index& reader : readers) ASSERT_EQ(reader.refresh(), Refreshed::advanced);
    }
  }
  if (!ran_all_cases(kDefaultTables)) return;
  EXPECT_GT(num_pages, 50U);
  EXPECT_GT(num_short, 50U);
  EXPECT_GT(num_hits, 10'000U);
}

// No leaf that one tree would leave alone.
TEST(LoggedGroups, ReadFewLeavesOfTheFiles) {
  Random random(3);
  LoggedTable table(random, 40'000, 7);
  table.change(200);
  const Index reader = table.open(kUnlimitedMemory);
  const Query query = {.weights = {1, -1, 0.5}, .k = 10, .per = RowsPer{"brand", 2}};
  static_cast<void>(
      reader.search({.weights = {1, -1, 0.5}, .k = 1}));  // looks for the extremes of what is left
  const SearchStats of_two = reader.search(query).stats, of_one = table.whole().search(query).stats;
  EXPECT_LT(of_two.leaves_visited, 2 * of_one.leaves_visited + 30);
  EXPECT_EQ(of_two.engine, Engine::bounded);
}

TEST(LoggedGroups, AreRefusedAsOfOneTree) {
  Random random(4);
  LoggedTable table(random, 500, 7);
  table.change(20);
  const Index reader = table.open(kUnlimitedMemory);
  const auto search = [&](const std::string& column, std::size_t most) {
    static_cast<void>(reader.search({.weights = {1, 0, 0}, .per = RowsPer{column, most}}));
  };
  EXPECT_THROW(search("brand", 0), InvalidArgument);
  EXPECT_THROW(search("bland", 1), InvalidArgument);
  EXPECT_THROW(search("note", 1), InvalidArgument);
}

}  // namespace
}  // namespace culmen::test
