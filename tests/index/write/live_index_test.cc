// Changes by the public API: batches against a std::map, on the open index, on its snapshots, and on the directory
// opened again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "index/build/bulk_load.h"
#include "index/storage/store.h"
#include "index/write/live_index.h"
#include "tests/cases.h"
#include "tests/harness.h"
#include "tests/hostile_floating_point.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/oracle.h"

namespace culmen::test {
namespace {

constexpr std::size_t kAttributes = 3;
using LiveRows = std::map<std::int64_t, std::array<double, kAttributes>>;

// Rows as a table of the index's attributes.
struct RowsTable {
  std::vector<std::int64_t> ids;
  std::array<std::vector<double>, kAttributes> columns;
  std::vector<std::uint64_t> dropped;

  void add(std::int64_t id, const std::array<double, kAttributes>& values) {
    ids.push_back(id);
    for (std::size_t i = 0; i < kAttributes; ++i) columns[i].push_back(values[i]);
  }
  std::array<double, kAttributes> values(std::size_t row) const {
    std::array<double, kAttributes> values;
    for (std::size_t i = 0; i < kAttributes; ++i) values[i] = columns[i][row];
    return values;
  }
  TableView view(bool with_ids = true) const {
    TableView table{ids.size(), {{"a"}, {"b", Preference::low}, {"c"}}, {}, {}, {}};
    for (const std::vector<double>& column : columns) table.columns.emplace_back(column);
    if (with_ids) table.ids = ids;
    table.dropped_rows = dropped;
    return table;
  }
};

RowsTable table_of(const LiveRows& rows) {
  RowsTable table;
  for (const auto& [id, values] : rows) table.add(id, values);
  return table;
}

// Runs a few queries on both. Empty if all answers are the same.
std::string difference(const Index& index, const LiveRows& rows, std::mt19937_64& random,
                       bool is_limited = false) {
  if (index.info().num_rows != rows.size()) return "the number of rows";
  const RowsTable table = table_of(rows);
  const Oracle oracle(table.view(), false);
  for (const Engine engine : kEngines) {
    if (is_limited && engine == Engine::ta) continue;  // lists are of one tree in memory
    Query query;
    for (std::size_t i = 0; i < kAttributes; ++i)
      query.weights.push_back(static_cast<double>(random() % 19) / 4 - 1.5 + 0.1);
    query.k = 1 + random() % 20;
    if (random() % 2 == 0) query.scale = random() % 2 == 0 ? Scale::minmax : Scale::zscore;
    if (random() % 3 == 0) query.where = {{0, 0.2, 0.9}};
    const SearchResult found = index.search(query, {.engine = engine});
    const std::string text = test::difference(found.hits, oracle.search(query));
    if (!text.empty()) return std::string(engine_name(engine)) + ": " + text;
  }
  return "";
}

// A model of a batch: what its steps should do to the rows and to the next id.
struct Expected {
  LiveRows rows;
  std::int64_t next_id = 0;
  WriteResult result;
  bool is_refused = false;

  void add(std::int64_t id, const std::array<double, kAttributes>& values, bool replace) {
    const bool is_there = rows.count(id) > 0;
    is_refused |= is_there && !replace;
    ++(is_there ? result.replaced : result.inserted);
    rows[id] = values;
    next_id = std::max(next_id, id + 1);
  }
  // For row `number` of a table.
  std::int64_t assign(std::uint64_t number) {
    if (result.first_id < 0) result.first_id = next_id - static_cast<std::int64_t>(number);
    return next_id;
  }
  void erase(std::int64_t id) { result.erased += rows.erase(id); }
};

class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) {}

  LiveRows rows;
  std::uint64_t num_operations = 0;  // of accepted batches

  // A batch of all kinds of steps, with and without ids, some of which must fail. Once there are many rows, it erases
  // half of them, because the cost of comparing everything grows with the rows.
  void step(Index& index) {
    if (rows.size() > kMaxRows) return erase_half(index);
    Expected expected{rows, next_id_, {}, false};
    std::uint64_t operations = 0;
    std::vector<RowsTable> tables(1 + random_() % 4);
    std::vector<std::vector<std::int64_t>> erased(tables.size());
    WriteBatch batch;
    const std::size_t most = random_() % 8 == 0 ? 400 : 12;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const auto kind = static_cast<Kind>(random_() % 6);
      const std::size_t count = random_() % most;
      operations += count;
      for (std::size_t r = 0; r < count; ++r) draw(kind, expected, tables[t], erased[t]);
      const TableView view = tables[t].view(kind != Kind::insert_unnamed && kind != Kind::upsert_unnamed);
      if (kind == Kind::erase) {
        batch.erase(erased[t]);
      } else if (kind == Kind::upsert || kind == Kind::upsert_unnamed) {
        batch.upsert(view);
      } else {
        batch.insert(view);
      }
    }
    try {
      const WriteResult result = index.write(batch);
      EXPECT_FALSE(expected.is_refused);
      EXPECT_EQ(result.inserted, expected.result.inserted);
      EXPECT_EQ(result.replaced, expected.result.replaced);
      EXPECT_EQ(result.erased, expected.result.erased);
      EXPECT_EQ(result.first_id, expected.result.first_id);
      rows = std::move(expected.rows);
      next_id_ = expected.next_id;
      num_operations += operations;
    } catch (const InputError& error) {
      EXPECT_TRUE(expected.is_refused) << error.what();
    }
  }

  std::mt19937_64& random() { return random_; }

 private:
  static constexpr std::size_t kMaxRows = 3000;
  enum class Kind { insert_fresh, insert, insert_unnamed, upsert, upsert_unnamed, erase };

  void draw(Kind kind, Expected& expected, RowsTable& table, std::vector<std::int64_t>& erased) {
    if (kind == Kind::erase) {
      erased.push_back(some_id(expected));
      return expected.erase(erased.back());
    }
    const bool is_unnamed = kind == Kind::insert_unnamed || kind == Kind::upsert_unnamed;
    const std::uint64_t number = table.ids.size() + table.dropped.size();
    if (is_unnamed && random_() % 4 == 0) {
      table.dropped.push_back(number);
      ++expected.next_id;
      return;
    }
    const std::int64_t id = is_unnamed ? expected.assign(number)
                            : kind == Kind::insert_fresh
                                ? expected.next_id + static_cast<std::int64_t>(random_() % 3)
                                : some_id(expected);
    table.add(id, some_values());
    expected.add(id, table.values(table.ids.size() - 1), kind == Kind::upsert);
  }
  void erase_half(Index& index) {
    std::vector<std::int64_t> erased;
    for (const auto& [id, values] : rows)
      if (random_() % 2 == 0) erased.push_back(id);
    EXPECT_EQ(index.erase(erased), erased.size());
    for (const std::int64_t id : erased) rows.erase(id);
    num_operations += erased.size();
  }
  // Any id ever used, including those that this batch has assigned or will assign; every other time the next existing
  // one.
  std::int64_t some_id(const Expected& expected) {
    const auto all = static_cast<std::uint64_t>(expected.next_id + 8);
    const std::uint64_t newest = random_() % 3 == 0 ? std::min<std::uint64_t>(all, 24) : all;
    const std::int64_t id = expected.next_id + 6 - static_cast<std::int64_t>(random_() % newest);
    const auto found = random_() % 2 == 0 ? expected.rows.lower_bound(id) : expected.rows.end();
    return found == expected.rows.end() ? id : found->first;
  }
  std::array<double, kAttributes> some_values() {
    std::array<double, kAttributes> values;
    const std::uint64_t steps = random_() % 2 == 0 ? 8 : 4096;
    for (double& value : values) value = static_cast<double>(random_() % steps) / static_cast<double>(steps);
    return values;
  }

  std::mt19937_64 random_;
  std::int64_t next_id_ = 0;
};

Index build_empty() {
  const RowsTable table;
  return Index::build(table.view(), {.leaf_rows = 16, .value_type = ValueType::float32});
}

// CULMEN_TEST_CASES=1000000: at least so many operations, and verify after each batch.
TEST(LiveIndex, HoldsWhatAMapHoldsThroughCheckpointsAndReopening) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  build_empty().save(path);
  Model model(1);
  std::uint64_t num_batches = 0, num_verified = 0, num_compared = 0, num_opened = 0;
  const auto verify = [&](const Index& index) {
    ++num_verified;
    const std::vector<std::string> faults = index.verify();
    ASSERT_TRUE(faults.empty()) << faults.front() << ", batch " << num_batches;
  };
  const auto compare = [&](const Index& index, const LiveRows& rows, bool is_limited) {
    ++num_compared;
    ASSERT_EQ(difference(index, rows, model.random(), is_limited), "") << "batch " << num_batches;
  };
  while (model.num_operations < num_cases(20'000)) {
    const auto durability = static_cast<Durability>(model.random()() % 3);
    const bool on_touch = model.random()() % 2 == 0;
    const Loading loading = on_touch ? Loading::on_touch : Loading::whole;
    const bool is_limited = on_touch && model.random()() % 2 == 0;
    Index index = Index::open(path, {.writable = true,
                                     .durability = durability,
                                     .loading = loading,
                                     .max_memory = is_limited ? 50'000 : kUnlimitedMemory});
    ++num_opened;
    if (!on_touch) {  // this reads all
      ASSERT_NO_FATAL_FAILURE(verify(index));
      ASSERT_NO_FATAL_FAILURE(compare(index, model.rows, false));
    }
    for (std::uint64_t last = num_batches + model.random()() % 200; num_batches < last; ++num_batches) {
      const bool is_compared = num_batches % 8 == 0;
      const Index before = index.snapshot();
      const LiveRows rows_before = is_compared ? model.rows : LiveRows();
      model.step(index);
      if (model.random()() % 20 == 0) index.checkpoint();
      if (model.random()() % 50 == 0) index.compact();
      if (!is_limited) {
        ASSERT_NO_FATAL_FAILURE(verify(index));
      }
      if (!is_compared) continue;
      ASSERT_NO_FATAL_FAILURE(compare(index, model.rows, is_limited));
      ASSERT_NO_FATAL_FAILURE(compare(before, rows_before, is_limited));
    }
    if (model.random()() % 2 == 0) index.close();
  }
  RecordProperty("operations", std::to_string(model.num_operations));
  RecordProperty("batches", std::to_string(num_batches));
  RecordProperty("verified", std::to_string(num_verified));
  RecordProperty("compared", std::to_string(num_compared));
  RecordProperty("opened", std::to_string(num_opened));
}

// Once sums round, a bound is raised by the rounding error of the rows that it covers. A single inserted row raises it
// by less than the whole leaf would, and that is enough.
TEST(LiveIndex, VerifiesBoundsOfRowsThatCameAlone) {
  RowsTable rows;
  for (int r = 0; r < 40; ++r) rows.add(r, {static_cast<double>(r), 0, 0});
  Index index = Index::build(rows.view(), {.partitioning = Partitioning::random,
                                           .num_partitions = 2,
                                           .leaf_rows = 32,
                                           .value_type = ValueType::float32});
  RowsTable tiny;
  for (int r = 0; r < 8; ++r) tiny.add(100 + r, {0x1p-47, 0, 0});
  index.insert(tiny.view());
  EXPECT_EQ(index.verify(), std::vector<std::string>());
}

TEST(LiveIndex, AReaderFollowsTheWriterOfAnotherHandle) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  build_empty().save(path);
  Model model(2);
  Index writer = Index::open(path, {.writable = true});
  Index reader = Index::open(path);
  for (int b = 0; b < 200; ++b) {
    model.step(writer);
    if (b % 17 == 0) writer.checkpoint();
    if (b % 61 == 60) writer.compact();
    if (b % 3 != 0) continue;
    const std::uint64_t before = reader.version();
    EXPECT_EQ(reader.refresh(), writer.version() != before ? Refreshed::advanced : Refreshed::unchanged);
    ASSERT_EQ(reader.version(), writer.version());
    ASSERT_EQ(difference(reader, model.rows, model.random()), "") << "batch " << b;
  }
  EXPECT_THROW(reader.erase(std::vector<std::int64_t>{1}), InvalidArgument);
  EXPECT_THROW(static_cast<void>(Index::open(path, {.writable = true})), IoError);
}

TEST(LiveIndex, BatchesOfManyThreadsAreAllThere) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  build_empty().save(path);
  constexpr int kThreads = 6, kBatchesEach = 40;
  {
    Index index = Index::open(path, {.writable = true});
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([t, index]() mutable {
        for (int b = 0; b < kBatchesEach; ++b) {
          RowsTable rows;
          for (int r = 0; r < 5; ++r)
            rows.add(t * 1'000'000 + b * 10 + r, {static_cast<double>(t), static_cast<double>(b), 0.5});
          const WriteResult result = index.insert(rows.view());
          EXPECT_EQ(result.inserted, 5u);
          EXPECT_THROW(index.insert(rows.view()), InputError);
          EXPECT_GE(index.search({.weights = {1, 1, 1}, .k = 1}).version(), result.version);
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(index.version(), 1u + kThreads * kBatchesEach);
  }
  const Index index = Index::open(path);
  EXPECT_EQ(index.info().num_rows, 5u * kThreads * kBatchesEach);
  EXPECT_TRUE(index.verify().empty());
}

// Threads whose batches are committed in groups, beside a reader. Each replaces the same rows by others, which have new values, so
// that a filter that did not see the batches before it in its group would leave some.
TEST(LiveIndex, FiltersSeeTheBatchesBeforeThemInTheirGroup) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  constexpr std::uint64_t kThreads = 6, kBatchesEach = 60, kRows = 20, kOthers = 2000;
  const auto rows_from = [](std::uint64_t count, double from) {
    RowsTable rows;
    for (std::uint64_t r = 0; r < count; ++r)
      rows.add(0, {from + static_cast<double>(r % 64) / 64, static_cast<double>(r), 0.5});
    return rows;
  };
  const RowsTable others = rows_from(kOthers, 1000);
  Index::build(others.view(false), {.leaf_rows = 16, .value_type = ValueType::float32}).save(path);
  const Filter is_replaced = col("a") < 1000;
  std::atomic<std::uint64_t> erased = 0, wrong_counts = 0;
  std::atomic<bool> done = false;
  {
    Index index = Index::open(path, {.writable = true});
    std::thread reader([&] {
      while (!done) {
        const std::size_t count = index.ids_where(is_replaced).size();
        if (count != 0 && count != kRows) ++wrong_counts;
      }
    });
    std::vector<std::thread> writers;
    for (std::uint64_t t = 0; t < kThreads; ++t)
      writers.emplace_back([&, t] {
        for (std::uint64_t b = 0; b < kBatchesEach; ++b) {
          const RowsTable rows = rows_from(kRows, static_cast<double>(b * kThreads + t));
          erased += index.write(WriteBatch().erase_where(is_replaced).insert(rows.view(false))).erased;
        }
      });
    for (std::thread& writer : writers) writer.join();
    done = true;
    reader.join();
    EXPECT_EQ(index.version(), 1u + kThreads * kBatchesEach);
  }
  EXPECT_EQ(wrong_counts, 0u);
  EXPECT_EQ(erased, (kThreads * kBatchesEach - 1) * kRows);
  const Index index = Index::open(path);
  EXPECT_EQ(index.info().num_rows, kOthers + kRows);
  EXPECT_TRUE(index.verify().empty());
}

// More changes than a replay applies to the tree at once.
TEST(LiveIndex, ReplaysALongLog) {
  constexpr std::int64_t kLogged = 20, kRows = 8000;
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  build_empty().save(path);
  std::optional<Index> index = Index::open(path, {.writable = true, .durability = Durability::os});
  for (std::int64_t b = 0; b < kLogged; ++b) {
    RowsTable rows;
    for (std::int64_t r = 0; r < kRows; ++r)
      rows.add(r, {static_cast<double>(r % 1000), static_cast<double>(b), static_cast<double>(r % 7)});
    index->upsert(rows.view());
  }
  index.reset();  // not closed
  const Index again = Index::open(path);
  EXPECT_EQ(again.recovery().num_batches, static_cast<std::uint64_t>(kLogged));
  EXPECT_EQ(again.info().num_rows, static_cast<std::uint64_t>(kRows));
  EXPECT_EQ(again.verify(), std::vector<std::string>());
  EXPECT_EQ(again.search({.weights = {0, 1, 0}, .k = 1}).hits.front().score, kLogged - 1)
      << "the last batch's";
}

// Whoever opens the index next would take longer to apply such a log than closing takes to write a checkpoint.
TEST(LiveIndex, LeavesNoLongLogWhenItIsClosed) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  build_empty().save(path);
  const auto rows_from = [](std::int64_t first, std::int64_t count) {
    RowsTable rows;
    for (std::int64_t r = first; r < first + count; ++r)
      rows.add(r, {static_cast<double>(r % 1000), 1, static_cast<double>(r % 7)});
    return rows;
  };
  std::uint64_t num_rows = 0;
  for (const auto& [count, num_batches] : {std::pair(20'000, 1), std::pair(60'000, 0), std::pair(10, 1)})
    for (const Durability durability : {Durability::sync, Durability::batch}) {
      Index index = Index::open(path, {.writable = true, .durability = durability});
      index.compact();
      index.insert(rows_from(static_cast<std::int64_t>(num_rows), count).view());
      num_rows += static_cast<std::uint64_t>(count);
      index.close();
      const Index again = Index::open(path);
      EXPECT_EQ(again.recovery().num_batches, static_cast<std::uint64_t>(num_batches)) << count << " rows";
      EXPECT_EQ(again.info().num_rows, num_rows);
      EXPECT_EQ(again.verify(), std::vector<std::string>());
    }
}

TEST(LiveIndex, AssignsIdsThatNobodyHad) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  build_empty().save(path);
  RowsTable rows;
  for (int r = 0; r < 3; ++r) rows.add(0, {0.25 * r, 0, 0});
  {
    Index index = Index::open(path, {.writable = true});
    EXPECT_EQ(index.insert(rows.view(false)).first_id, 0);
    EXPECT_EQ(index.insert(rows.view(false)).first_id, 3);
    const std::vector<std::int64_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_EQ(index.erase(all), 6u);
    EXPECT_EQ(index.info().num_rows, 0u);
  }
  Index index = Index::open(path, {.writable = true});
  EXPECT_EQ(index.insert(rows.view(false)).first_id, 6);
  // Durable even if only the next id has changed.
  const std::vector<std::int64_t> nine_to_eleven = {9, 10, 11};
  index.write(WriteBatch().insert(rows.view(false)).erase(nine_to_eleven));
  index = Index::build(rows.view(false));  // lets go of the directory
  index = Index::open(path, {.writable = true});
  EXPECT_EQ(index.insert(rows.view(false)).first_id, 12);
  index.compact();
  EXPECT_EQ(index.insert(rows.view(false)).first_id, 15);
}

TEST(LiveIndex, GivesRowsTheirNumbersBeforeOthersWereDropped) {
  RowsTable rows;  // 1 and 4 of 0 to 5
  rows.add(0, {0.25, 0, 0});
  rows.add(0, {0.5, 0, 0});
  rows.dropped = {0, 2, 3, 5};
  RowsTable none;
  none.dropped = {0, 1};
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  build_empty().save(path);
  Index index = Index::open(path, {.writable = true});
  const WriteResult first = index.insert(rows.view(false));
  EXPECT_EQ(std::pair(first.first_id, first.inserted), std::pair(std::int64_t{0}, std::uint64_t{2}));
  EXPECT_EQ(index.insert(none.view(false)).first_id, -1);
  const std::vector<std::int64_t> nine = {9};
  const WriteResult second =
      index.write(WriteBatch().insert(none.view(false)).insert(rows.view(false)).erase(nine));
  EXPECT_EQ(std::pair(second.first_id, second.erased), std::pair(std::int64_t{10}, std::uint64_t{0}));
  index = Index::open(folder.path() / "index");
  for (const std::int64_t id : {1, 4, 11, 14}) EXPECT_TRUE(index.contains(id)) << id;
  EXPECT_EQ(index.info().num_rows, 4u);
  EXPECT_EQ(index.get(14)->values[0], 0.5);
}

TEST(LiveIndex, RefusesDroppedRowsThatTheTableCannotHave) {
  RowsTable rows;
  rows.add(0, {0.25, 0, 0});
  for (const std::vector<std::uint64_t>& dropped : {std::vector<std::uint64_t>{2}, {1, 1}, {2, 0}}) {
    rows.dropped = dropped;
    EXPECT_THROW(build_empty().insert(rows.view(false)), InputError);
    EXPECT_THROW(static_cast<void>(Index::build(rows.view(false))), InputError);
  }
}

// Rows 0 to 9 with one attribute, and a batch of steps on them.
class MixedBatch : public ::testing::Test {
 protected:
  MixedBatch() {
    RowsTable rows;
    for (int r = 0; r < 10; ++r) rows.add(r, {0.25, 0, 0});
    index_.insert(rows.view());
  }
  static RowsTable some_rows(std::int64_t first_id, int count) {
    RowsTable rows;
    for (int r = 0; r < count; ++r) rows.add(first_id + r, {0.5, 0, 0});
    return rows;
  }
  // The ids in the index, ascending.
  std::vector<std::int64_t> ids() const {
    std::vector<std::int64_t> ids;
    for (const Hit& hit : index_.search({.weights = {1, 0, 0}, .k = 1000}).hits) ids.push_back(hit.id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  Index index_ = build_empty();
};

TEST_F(MixedBatch, KeepsRowsWhoseAssignedIdsWereErasedBefore) {
  std::vector<std::int64_t> all(30);
  std::iota(all.begin(), all.end(), 0);
  const RowsTable rows = some_rows(0, 3);
  const WriteResult result = index_.write(WriteBatch().erase(all).insert(rows.view(false)));
  EXPECT_EQ(result.erased, 10u);
  EXPECT_EQ(result.inserted, 3u);
  EXPECT_EQ(result.first_id, 10);
  EXPECT_EQ(ids(), (std::vector<std::int64_t>{10, 11, 12}));
  EXPECT_EQ(index_.insert(rows.view(false)).first_id, 13);
}

TEST_F(MixedBatch, KnowsTheIdsThatItHasAssigned) {
  const RowsTable three = some_rows(0, 3), eleven = some_rows(11, 1);
  EXPECT_THROW(index_.write(WriteBatch().insert(three.view(false)).insert(eleven.view())), InputError);
  const WriteResult replaced = index_.write(WriteBatch().insert(three.view(false)).upsert(eleven.view()));
  EXPECT_EQ(replaced.inserted, 3u);
  EXPECT_EQ(replaced.replaced, 1u);
  EXPECT_EQ(ids().size(), 13u);
  const std::vector<std::int64_t> fourteen = {14};
  const WriteResult erased = index_.write(WriteBatch().insert(three.view(false)).erase(fourteen));
  EXPECT_EQ(erased.erased, 1u);
  EXPECT_EQ(ids().size(), 15u);
}

// A host that flushes subnormal numbers to zero must not make the index store zeros for them.
TEST(LiveIndex, WritesSubnormalNumbersAsTheyAreWhateverTheModeOfTheHost) {
  const TemporaryDirectory folder;
  const auto tiny = [](std::int64_t first) {
    RowsTable rows;
    for (std::int64_t r = first; r < first + 3; ++r)
      rows.add(r, {static_cast<double>(r + 1) * 1e-310, static_cast<double>(-r) * 1e-312, 1});
    return rows;
  };
  const RowsTable first = tiny(0), second = tiny(3), third = tiny(6);
  {
    const Index built = Index::build(first.view());
    const HostileFloatingPoint hostile;
    built.save(folder.path() / "index");
    Index index = Index::open(folder.path() / "index", {.writable = true});
    index.insert(second.view());
    index.checkpoint();
    index.compact();
    index.insert(third.view());
    index.close();
  }
  const Index index = Index::open(folder.path() / "index");
  EXPECT_EQ(index.info().num_rows, 9u);
  EXPECT_EQ(index.info().attributes[0].maximum, 9 * 1e-310);
  EXPECT_EQ(index.verify(), std::vector<std::string>());
}

// If all ids are negative, the next one is 0, so that -1 can mean that none was assigned.
// Whichever call fails, and whichever operation should have made them durable.
TEST(LiveIndex, SaysAtTheLatestWhenItIsClosedThatChangesWereLost) {
  const std::vector<double> values(100, 1);
  const TableView hundred{100, {{"a"}}, {values}, {}, {}};
  const TableView ten{10, {{"a"}}, {std::span(values).first(10)}, {}, {}};
  const std::function<void(LiveIndex&)> operations[] = {[](LiveIndex& index) { index.flush(); },
                                                        [](LiveIndex& index) { index.checkpoint(); },
                                                        [](LiveIndex& index) { index.compact(); }};
  for (const auto& operation : operations) {
    int num_failed = 0;
    bool reached = true;
    for (std::uint64_t call = 0; reached; ++call) {
      storage::MemoryFileSystem files;
      storage::save(*bulk_load(hundred, {}), files, "index", false);
      LiveIndex index(files, "index", {.writable = true, .durability = Durability::batch});
      index.write(WriteBatch().insert(ten), {});
      files.plan = {storage::FaultKind::no_space, files.num_calls + call, false};
      const std::uint64_t last = files.plan.first_call;
      bool failed = false, told = false;
      try {
        operation(index);
      } catch (const IoError&) {
        failed = true;
      }
      reached = files.num_calls > last;
      files.plan = {};
      try {
        index.close();
      } catch (const IoError&) {
        told = true;
      }
      const LiveIndex again(files, "index", {});
      EXPECT_TRUE(told || again.published()->get()->num_rows == 110) << "call " << call;
      num_failed += failed ? 1 : 0;
    }
    EXPECT_GT(num_failed, 1);
  }
}

TEST(LiveIndex, AssignsNoNegativeIds) {
  RowsTable negative, three;
  negative.add(-3, {0.25, 0, 0});
  for (int r = 0; r < 3; ++r) three.add(0, {0.5, 0, 0});
  Index index = Index::build(negative.view());
  EXPECT_EQ(index.write(WriteBatch().insert(three.view(false)).insert(three.view(false))).first_id, 0);
  EXPECT_EQ(index.insert(three.view(false)).first_id, 6);
}

TEST_F(MixedBatch, FiltersSeeTheStepsBeforeThem) {
  const RowsTable three = some_rows(0, 3), five = some_rows(5, 1);
  const Filter halves = col("a") == 0.5, quarters = col("a") == 0.25;
  EXPECT_EQ(index_.write(WriteBatch().erase_where(halves).insert(three.view(false))).erased, 0u);
  EXPECT_EQ(ids().size(), 13u);
  const WriteResult result =
      index_.write(WriteBatch().insert(three.view(false)).upsert(five.view()).erase_where(halves));
  EXPECT_EQ(result.inserted, 3u);
  EXPECT_EQ(result.replaced, 1u);
  EXPECT_EQ(result.erased, 7u);  // and not the old row 5
  EXPECT_EQ(ids(), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 6, 7, 8, 9}));
  // Of row 4 the new values count.
  const RowsTable four = some_rows(4, 1), nine = some_rows(9, 1);
  const WriteResult moved =
      index_.write(WriteBatch().upsert(four.view()).erase_where(quarters).insert(nine.view()));
  EXPECT_EQ(moved.erased, 8u);
  EXPECT_EQ(moved.inserted, 1u);
  EXPECT_EQ(ids(), (std::vector<std::int64_t>{4, 9}));
  EXPECT_EQ(index_.erase_where({}), 2u);
  EXPECT_EQ(ids(), std::vector<std::int64_t>());
  EXPECT_EQ(index_.insert(three.view(false)).first_id, 16);
}

TEST_F(MixedBatch, WithAFilterThatCannotBeIsRefused) {
  const RowsTable three = some_rows(0, 3);
  const std::uint64_t version = index_.version();
  const WriteBatch batch = WriteBatch().insert(three.view(false)).erase_where(col("nothing") > 1);
  EXPECT_THROW(index_.write(batch), InvalidArgument);
  EXPECT_THROW(index_.check(batch), InvalidArgument);
  EXPECT_THROW(index_.erase_where(col("a") == "text"), InvalidArgument);
  EXPECT_EQ(index_.version(), version);
  EXPECT_EQ(ids().size(), 10u);
}

// Rows whose values nobody knows yet.
TEST(LiveIndex, ErasesByAFilterInTheFirstBatch) {
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  Index index = build_empty();
  RowsTable rows, more;
  rows.add(1, {kMissing, 1, kMissing});
  rows.add(2, {kMissing, 2, kMissing});
  more.add(3, {5, 3, 7});
  const WriteResult result = index.write(
      WriteBatch().insert(rows.view()).erase_where(col("a").is_null() && col("b") < 2).insert(more.view()));
  EXPECT_EQ(result.erased, 1u);
  EXPECT_EQ(index.ids_where({}), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(index.ids_where(col("a").is_null()), std::vector<std::int64_t>{2});
  EXPECT_TRUE(index.verify().empty());
}

TEST_F(MixedBatch, UsesIdsUpThoughItsRowsHaveGoneAgain) {
  const RowsTable one = some_rows(0, 1);
  const std::vector<std::int64_t> ten = {10};
  EXPECT_EQ(index_.write(WriteBatch().insert(one.view(false)).erase(ten)).erased, 1u);
  EXPECT_EQ(index_.insert(one.view(false)).first_id, 11);
}

// Leaves of 11 of 16 rows are not merged yet.
TEST(LiveIndex, AdvisesACompactionWhenItHasMoreLeavesThanABuild) {
  std::mt19937_64 random(12);
  RowsTable table;
  for (std::int64_t id = 0; id < 3000; ++id) {
    std::array<double, kAttributes> values;
    for (double& value : values) value = static_cast<double>(random() % 1000) / 1024;
    table.add(id, values);
  }
  Index index = Index::build(table.view(), {.num_partitions = 1, .leaf_rows = 16});
  EXPECT_FALSE(index.info().compact_advised);
  std::map<std::uint64_t, std::vector<std::int64_t>> ids_of_leaf;
  for (const Hit& hit : index.search({.weights = std::vector<double>(kAttributes, 1.0), .k = 3000}).hits)
    ids_of_leaf[hit.row / 16].push_back(hit.id);
  for (const auto& [leaf, ids] : ids_of_leaf)
    if (ids.size() > 11) index.erase(std::span(ids).subspan(11));
  EXPECT_TRUE(index.info().compact_advised);
  index.compact();
  EXPECT_FALSE(index.info().compact_advised);
}

TEST(LiveIndex, RefusesWhatCannotBeAndStaysAsItWas) {
  Index index = build_empty();
  RowsTable rows;
  rows.add(7, {0.1f, 0, 0});
  index.insert(rows.view());
  const std::uint64_t version = index.version();
  RowsTable inexact;
  inexact.add(8, {0.1, 0, 0});
  EXPECT_THROW(index.insert(inexact.view()), InputError);
  EXPECT_THROW(index.insert(rows.view()), InputError);
  RowsTable twice;
  twice.add(9, {0, 0, 0});
  twice.add(9, {0, 0, 0});
  EXPECT_THROW(index.insert(twice.view()), InputError);
  RowsTable infinite;
  infinite.add(10, {std::numeric_limits<double>::infinity(), 0, 0});
  EXPECT_THROW(index.upsert(infinite.view()), InputError);
  TableView unknown = rows.view();
  unknown.attributes[1].name = "x";
  EXPECT_THROW(index.upsert(unknown), InvalidArgument);
  unknown.columns.pop_back();
  EXPECT_THROW(index.upsert(unknown), InvalidArgument);
  EXPECT_THROW(index.checkpoint(), InvalidArgument);
  Index fixed = index.snapshot();
  EXPECT_THROW(fixed.insert(inexact.view()), InvalidArgument);
  EXPECT_EQ(index.version(), version);
  EXPECT_EQ(index.erase(std::vector<std::int64_t>{1, 2}), 0u);
  EXPECT_EQ(index.version(), version);
  EXPECT_EQ(index.insert(inexact.view(), {.round_to_float32 = true}).inserted, 1u);
  EXPECT_EQ(index.info().rounded_values, 1u);
  EXPECT_EQ(fixed.info().num_rows, 1u);
}

}  // namespace
}  // namespace culmen::test
