// Readers that keep some of what they read (OpenOptions::max_memory), beside each other and behind a writer.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "culmen/device.h"
#include "culmen/index.h"
#include "culmen/row_reader.h"
#include "index/snapshot.h"
#include "tests/cases.h"
#include "tests/field_tables.h"
#include "tests/harness.h"
#include "tests/index/write/limited_answers.h"
#include "tests/resident_memory.h"

namespace culmen::test {
namespace {

using limited::kSchema;
using limited::label_of;
using limited::some_rows;

class MemoryLimit {
 public:
  MemoryLimit(Random& random, std::int64_t num_rows) {
    const RowTable table(random, kSchema, some_rows(random, 0, num_rows));
    Index::build(table.view(), {.leaf_rows = 16}).save(directory());
  }

  std::filesystem::path directory() const { return folder_.path() / "index"; }
  Index open(std::uint64_t max_memory, CodesIn codes = CodesIn::files) const {
    return Index::open(directory(), {.loading = Loading::on_touch, .max_memory = max_memory, .codes = codes});
  }

 private:
  const TemporaryDirectory folder_;
};

TEST(Readers, AnswerWithinALimitOfMemory) {
  Random random(1);
  const MemoryLimit table(random, 30'000);
  Index writer = Index::open(table.directory(), {.writable = true, .durability = Durability::os});
  std::vector<Index> readers;
  for (const std::uint64_t most : {1, 200'000, 2'000'000}) readers.push_back(table.open(most));
  readers.push_back(table.open(1, CodesIn::memory));
  readers.push_back(table.open(200'000, CodesIn::memory));
  const std::uint64_t num_turns = num_cases(kSanitized ? 3 : 8);
  for (std::uint64_t turn = 0; turn < num_turns; ++turn) {
    std::vector<std::string> faults(4);
    std::vector<std::thread> threads;
    const Index whole = writer.snapshot();
    for (std::size_t t = 0; t < faults.size(); ++t)
      threads.emplace_back([&, t] {
        Random mine(100 * turn + t);
        for (int i = 0; i < (kSanitized ? 10 : 40) && faults[t].empty(); ++i)
          faults[t] = i % 20 == 9
                          ? limited::difference_of_batches(readers[mine.below(readers.size())], whole, mine)
                          : limited::difference_of_readers(readers[mine.below(readers.size())], whole, mine);
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& fault : faults) ASSERT_EQ(fault, "") << "turn " << turn;
    const auto first = static_cast<std::int64_t>(random.below(30'000));
    const RowTable changed(random, kSchema, some_rows(random, first, first + 50));
    writer.write(WriteBatch().upsert(changed.view()).erase(std::vector<std::int64_t>{first / 2}));
    if (turn % 4 == 3) writer.checkpoint();
    for (Index& reader : readers) ASSERT_EQ(reader.refresh(), Refreshed::advanced);
  }
}

// A search that visits many leaves gives some back before it ends, and threads beside it do not keep them.
TEST(Readers, KeepToTheirLimitOfMemory) {
  constexpr std::uint64_t kMost = 2 << 20;
  Random random(2);
  const MemoryLimit table(random, kSanitized ? 30'000 : 1'000'000);
  const Index reader = table.open(kMost);
  const std::shared_ptr<const Snapshot> tree = version_of(reader);
  ASSERT_TRUE(kSanitized || tree->tree_bytes() > 10 * kMost);
  std::atomic<std::uint64_t> most = 0;
  const std::size_t before = tells_resident_bytes() ? resident_bytes() : 0;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      Random mine(t);
      for (int i = 0; i < (kSanitized ? 5 : 40); ++i) {
        const Query query{.weights = {mine.uniform(-1, 1), mine.uniform(-1, 1), mine.uniform(-1, 1)},
                          .k = mine.pick<std::size_t>({16, 5'000})};
        static_cast<void>(reader.search(query, {.num_threads = 1}));
        most = std::max<std::uint64_t>(most, tree->arena->cache()->bytes());
      }
    });
  for (std::thread& thread : threads) thread.join();
  static_cast<void>(reader.search({.weights = {1, 1, 1}, .k = 1}));
  EXPECT_LE(tree->arena->cache()->bytes(), kMost);
  EXPECT_GT(most, kMost / 2);
  if (tells_resident_bytes()) {
    EXPECT_LT(resident_bytes(), before + 8 * kMost);
  }
}

// Damage after the first reading: an error where the place is read again, and no other answers.
TEST(Readers, CheckAgainWhatTheyReadAgain) {
  Random random(3);
  const MemoryLimit table(random, 5'000);
  const Index whole = Index::open(table.directory());
  const Index reader = table.open(1);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(limited::difference_of_readers(reader, whole, random), "");
  for (const auto& file : std::filesystem::directory_iterator(table.directory())) {
    if (!file.path().filename().string().ends_with("-leaves")) continue;
    std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (std::uint64_t at = 4096; at < file.file_size(); at += 40'000) {
      stream.seekp(static_cast<std::streamoff>(at));
      stream.put('\x5a');
    }
  }
  int num_errors = 0;
  for (int i = 0; i < 40; ++i) {
    try {
      ASSERT_EQ(limited::difference_of_readers(reader, whole, random), "");
    } catch (const FormatError& error) {
      EXPECT_NE(std::string(error.what()).find("leaves"), std::string::npos);
      ++num_errors;
    }
  }
  EXPECT_GT(num_errors, 0);
}

// By this process, so far; 0 where the system does not tell.
std::uint64_t bytes_read() {
  std::string name;
  std::uint64_t bytes = 0;
  std::ifstream("/proc/self/io") >> name >> bytes;
  return name == "rchar:" ? bytes : 0;
}

template <typename Call>
std::uint64_t bytes_read_by(const Call& call) {
  const std::uint64_t before = bytes_read();
  call();
  return bytes_read() - before;
}

// However little memory there is: long texts would otherwise be read again for each row.
TEST(Readers, ReadALeafOnceForAllRowsOfAnAnswer) {
  if (bytes_read() == 0) GTEST_SKIP();
  constexpr std::int64_t kRows = 64;
  Random random(5);
  std::vector<culmen::Row> given = some_rows(random, 0, kRows);
  std::uint64_t text_bytes = 0;
  for (culmen::Row& row : given) {
    std::string note;
    for (int i = 0; i < 20'000; ++i) note += static_cast<char>('0' + random.below(64));
    row.label += note;
    row.fields[1] = note;
    text_bytes += 2 * note.size();
  }
  const RowTable rows(random, kSchema, given);
  const TemporaryDirectory folder;
  Index::build(rows.view(), {.leaf_rows = 16}).save(folder.path() / "index");
  const Index reader = Index::open(folder.path() / "index", {.loading = Loading::on_touch, .max_memory = 1});
  const SearchResult found = reader.search({.weights = {1, 1, 1}, .k = kRows});
  std::vector<std::size_t> ranks(kRows);
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::int64_t> ids;
  for (const Hit& hit : found.hits) ids.push_back(hit.id);
  EXPECT_LT(bytes_read_by([&] {
              const std::vector<culmen::Row> all = found.rows(ranks);
              for (std::size_t rank = 0; rank < all.size(); ++rank)
                EXPECT_EQ(all[rank], given[static_cast<std::size_t>(ids[rank])]);
            }),
            text_bytes);
  EXPECT_LT(bytes_read_by([&] { EXPECT_EQ(found.labels()[7], found.label(7)); }), text_bytes);
  EXPECT_LT(bytes_read_by([&] {
              const auto all = reader.get(ids);
              for (std::size_t i = 0; i < all.size(); ++i)
                EXPECT_EQ(all[i], given[static_cast<std::size_t>(ids[i])]);
            }),
            text_bytes);
  EXPECT_LT(bytes_read_by([&] { EXPECT_EQ(RowReader(reader).next(kRows).size(), ids.size()); }), text_bytes);
  EXPECT_GT(bytes_read_by([&] {
              for (const std::size_t rank : ranks) static_cast<void>(found.row(rank));
            }),
            4 * text_bytes)
      << "the limit is not felt";
}

// Rows that bounds hardly tell apart: each question alone reads most leaves.
TEST(Readers, ReadALeafOnceForAllQuestionsOfABatch) {
  if (bytes_read() == 0) GTEST_SKIP();
  constexpr std::size_t kAttributes = 10, kQuestions = 100;
  Random random(6);
  Schema schema;
  for (std::size_t a = 0; a < kAttributes; ++a) schema.attributes.push_back({"a" + std::to_string(a)});
  schema.has_labels = true;
  schema.fields = kSchema.fields;
  std::vector<culmen::Row> given;
  const auto random_values = [&] {
    std::vector<double> values(kAttributes);
    for (double& value : values) value = random.uniform(-1, 1);
    return values;
  };
  for (std::int64_t id = 0; id < 16'000; ++id)
    given.push_back({id, random_values(), label_of(id), {FieldValue(id % 10), std::string("n")}});
  const RowTable rows(random, schema, given);
  const TemporaryDirectory folder;
  Index::build(rows.view(), {.leaf_rows = 64}).save(folder.path() / "index");
  Index writer = Index::open(folder.path() / "index", {.writable = true, .durability = Durability::os});
  Index reader = Index::open(folder.path() / "index", {.loading = Loading::on_touch, .max_memory = 1});
  std::vector<Query> queries;
  for (std::size_t q = 0; q < kQuestions; ++q) queries.push_back({.weights = random_values(), .k = 20});
  const std::uint64_t alone = bytes_read_by([&] { static_cast<void>(reader.search(queries[0])); });
  for (const bool is_behind_log : {false, true}) {
    if (is_behind_log) {
      writer.write(
          WriteBatch().upsert(RowTable(random, schema, {given.begin(), given.begin() + 300}).view()));
      writer.write(WriteBatch().erase(std::vector<std::int64_t>{500, 501, 502}));
      ASSERT_EQ(reader.refresh(), Refreshed::advanced);
      static_cast<void>(reader.search(queries[0]));  // the first one of a version looks for its extremes
    }
    std::vector<SearchResult> found;
    EXPECT_LT(bytes_read_by([&] { found = reader.search(queries); }), kQuestions / 5 * alone)
        << is_behind_log;
    const Index whole = writer.snapshot();
    for (std::size_t q = 0; q < kQuestions; ++q)
      EXPECT_EQ(limited::difference_of_answers(found[q], whole.search(queries[q])), "");
  }
}

// A table of more than 64 attributes behind whose snapshot there is a log, and readers that follow it or come late.
class WideLog {
 public:
  explicit WideLog(Random& random) : random_(random), share_of_gaps_(random.pick({0.0, 0.01})) {
    for (int a = random.pick({65, 70, 120}); a > 0; --a)
      schema_.attributes.push_back({std::string("a").append(std::to_string(a)),
                                    random.chance(0.2) ? Preference::low : Preference::high});
    std::vector<culmen::Row> rows;
    for (std::int64_t id = 0; id < 1'000; ++id) rows.push_back(drawn_row(id));
    Index::build(RowTable(random, schema_, rows).view(), {.leaf_rows = 16}).save(folder_.path() / "index");
    writer_ = Index::open(folder_.path() / "index", {.writable = true, .durability = Durability::os});
    readers_ = {open(kUnlimitedMemory), open(1), open(1, CodesIn::memory)};
  }

  void change() {
    std::vector<culmen::Row> changed;
    std::vector<std::int64_t> erased;
    for (std::int64_t id = 0; id < 1'200; ++id) {
      if (random_.chance(0.02)) {
        erased.push_back(id);
      } else if (random_.chance(0.05)) {
        changed.push_back(drawn_row(id));
      }
    }
    writer_->write(WriteBatch().upsert(RowTable(random_, schema_, changed).view()).erase(erased));
    for (Index& reader : readers_) ASSERT_EQ(reader.refresh(), Refreshed::advanced);
    readers_.push_back(open(random_.pick<std::uint64_t>({kUnlimitedMemory, 1, 100'000})));
  }

  Query query() const {
    Query query = {.weights = random_weights(random_, schema_.attributes.size()),
                   .k = random_.pick<std::size_t>({1, 16, 300}),
                   .scale = random_.pick({Scale::none, Scale::minmax, Scale::zscore}),
                   .missing = random_.pick({Missing::skip, Missing::fill})};
    if (random_.chance(0.2)) query.where = col("a3") > 0;
    if (random_.chance(0.2)) query.per = RowsPer{"a1", 1};
    return query;
  }

  // The same, or refused as well.
  void expect_equal_answers(const Query& query) const {
    using IdsAndScores = std::vector<std::pair<std::int64_t, double>>;
    const auto answer_of = [&](const Index& index, Engine engine) -> std::optional<IdsAndScores> {
      try {
        IdsAndScores answer;
        for (const Hit& hit : index.search(query, {.engine = engine}).hits)
          answer.emplace_back(hit.id, hit.score);
        return answer;
      } catch (const InvalidArgument&) {  // of weights whose scores could overflow
        return std::nullopt;
      }
    };
    const std::optional<IdsAndScores> expected = answer_of(*writer_, Engine::bounded);
    for (const Index& reader : readers_) {
      EXPECT_NE(version_of(reader)->logged, nullptr);
      const Engine engine = random_.pick({Engine::automatic, Engine::bounded, Engine::scan, Engine::gta});
      EXPECT_EQ(answer_of(reader, engine), expected);
    }
  }

  // From the files and the log.
  void build_again() {
    writer_->compact({.temp_directory = folder_.path()});
    EXPECT_EQ(writer_->verify(), std::vector<std::string>());
  }

 private:
  culmen::Row drawn_row(std::int64_t id) const {
    culmen::Row row = {id, {}, "", {}};
    for (std::size_t a = 0; a < schema_.attributes.size(); ++a)
      row.values.push_back(random_.chance(share_of_gaps_) ? std::numeric_limits<double>::quiet_NaN()
                                                          : random_.uniform(-1, 1));
    return row;
  }
  Index open(std::uint64_t max_memory, CodesIn codes = CodesIn::files) const {
    return Index::open(folder_.path() / "index",
                       {.loading = Loading::on_touch, .max_memory = max_memory, .codes = codes});
  }

  Random& random_;
  const double share_of_gaps_;
  Schema schema_;
  const TemporaryDirectory folder_;
  std::optional<Index> writer_;
  std::vector<Index> readers_;
};

TEST(Readers, AnswerBehindTheLogOfAWideTable) {
  for (std::uint64_t seed = 1; seed <= num_cases(2); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    WideLog table(random);
    for (int step = 0; step < (kSanitized ? 1 : 3); ++step) {
      table.change();
      for (int q = 0; q < (kSanitized ? 2 : 6); ++q) table.expect_equal_answers(table.query());
    }
    const Query query = table.query();
    table.expect_equal_answers(query);
    table.build_again();
    table.expect_equal_answers(query);
    if (HasFailure()) return;
  }
}

// Those of searches that bounds hardly help: few leaves are read, and codes are looked at.
TEST(Readers, ReadLittleByTheCodesOfAllRows) {
  Random random(3);
  std::vector<culmen::Row> rows;
  for (std::int64_t id = 0; id < 40'000; ++id) {
    rows.push_back({id, {}, "", {}});
    for (int a = 0; a < 24; ++a) rows.back().values.push_back(random.uniform(-1, 1));
  }
  Schema schema;
  for (int a = 0; a < 24; ++a) schema.attributes.push_back({std::string("a").append(std::to_string(a))});
  const TemporaryDirectory folder;
  Index::build(RowTable(random, schema, rows).view(), {.leaf_rows = 64}).save(folder.path() / "index");
  Index writer = Index::open(folder.path() / "index", {.writable = true, .durability = Durability::os});
  const OpenOptions limited = {.loading = Loading::on_touch, .max_memory = 1'000'000};
  OpenOptions with_codes = limited;
  with_codes.codes = CodesIn::memory;
  Index plain = Index::open(folder.path() / "index", limited);
  Index reader = Index::open(folder.path() / "index", with_codes);
  // Of the files; behind a log; of the files of a checkpoint.
  for (int step = 0; step < 3; ++step) {
    SCOPED_TRACE(step);
    std::uint64_t leaves_of_plain = 0, leaves = 0;
    for (int q = 0; q < 5; ++q) {
      Query query = {.weights = {}, .k = 10, .where = col("a0") > -0.9};
      for (int a = 0; a < 24; ++a) query.weights.push_back(random.sign() * random.uniform(0.5, 1));
      if (q == 4) {  // all rows that reach a score
        query.min_score = writer.search(query).hits.back().score;
        query.k = std::nullopt;
      }
      const SearchResult found = reader.search(query);
      const auto is_same = [](const Hit& a, const Hit& b) { return a.id == b.id && a.score == b.score; };
      EXPECT_TRUE(std::ranges::equal(found.hits, writer.search(query).hits, is_same));
      EXPECT_GE(found.stats.rows_by_codes, 39'000u);
      leaves += found.stats.leaves_visited;
      leaves_of_plain += plain.search(query).stats.leaves_visited;
    }
    EXPECT_LT(2 * leaves, leaves_of_plain);
    if (step == 2) break;
    writer.erase(std::vector<std::int64_t>{step});
    if (step == 1) writer.checkpoint();
    ASSERT_NE(reader.refresh(), Refreshed::unchanged);
    ASSERT_NE(plain.refresh(), Refreshed::unchanged);
  }
}

// Equal rows: codes exclude none, and the smallest ids decide.
TEST(Readers, ReadFewOfManyTiesByCodes) {
  Random random(6);
  const Schema schema = {.attributes = {{"a"}, {"b"}, {"c"}}};
  std::vector<culmen::Row> rows;
  for (std::int64_t id = 0; id < 40'000; ++id)
    rows.push_back({id, {0.1, id % 2 == 0 ? 0.7 : 0.3, 0.9}, "", {}});
  const TemporaryDirectory folder;
  const Index whole = Index::build(RowTable(random, schema, rows).view(), {.leaf_rows = 16});
  whole.save(folder.path() / "index");
  const OpenOptions options = {.loading = Loading::on_touch, .max_memory = 1, .codes = CodesIn::memory};
  const Index reader = Index::open(folder.path() / "index", options);
  for (int q = 0; q < 20; ++q) {
    const Query query = {.weights = random_weights(random, 3), .k = 5};
    const SearchResult found = reader.search(query), expected = whole.search(query);
    for (std::size_t rank = 0; rank < 5; ++rank) EXPECT_EQ(found.hits[rank].id, expected.hits[rank].id);
    EXPECT_LT(found.stats.leaves_visited, 50u);
  }
}

TEST(Readers, KeepTheirVersionWhileThatOfTheFilesHasNoCodes) {
  Random random(7);
  const MemoryLimit table(random, 5'000);
  Index reader = table.open(1, CodesIn::memory);
  const Index before = Index::open(table.directory());
  Index writer = Index::open(table.directory(), {.writable = true});
  writer.erase(std::vector<std::int64_t>{1, 2, 3});
  writer.checkpoint();
  std::filesystem::path leaves;
  for (const auto& file : std::filesystem::directory_iterator(table.directory()))
    if (file.path().filename().string().ends_with("-leaves")) leaves = std::max(leaves, file.path());
  const std::filesystem::path sound = leaves.string() + ".sound";
  std::filesystem::copy_file(leaves, sound);
  {
    std::fstream stream(leaves, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(std::filesystem::file_size(leaves) / 2));
    stream.put('\x5a');
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(reader.refresh(), FormatError);
    EXPECT_EQ(reader.version(), before.version());
    EXPECT_EQ(limited::difference_of_readers(reader, before, random), "");
  }
  std::filesystem::rename(sound, leaves);
  EXPECT_EQ(reader.refresh(), Refreshed::advanced);
  EXPECT_EQ(limited::difference_of_readers(reader, writer, random), "");
}

TEST(Readers, KeepCodesOfAllRowsWithALimitAlone) {
  Random random(5);
  const MemoryLimit table(random, 100);
  for (const CodesIn codes : {CodesIn::memory, CodesIn::device}) {
    EXPECT_THROW(static_cast<void>(Index::open(table.directory(), {.codes = codes})), InvalidArgument);
    EXPECT_THROW(static_cast<void>(table.open(kUnlimitedMemory, codes)), InvalidArgument);
    OpenOptions writing = {.writable = true, .loading = Loading::on_touch, .max_memory = 1 << 20};
    EXPECT_NO_THROW(static_cast<void>(Index::open(table.directory(), writing)));
    writing.codes = codes;
    EXPECT_THROW(static_cast<void>(Index::open(table.directory(), writing)), InvalidArgument);
  }
  if (num_devices() == 0) {
    EXPECT_THROW(static_cast<void>(table.open(1, CodesIn::device)), CudaError);
  }
}

// A copy makes readers without a limit apply each log to their trees.
TEST(Readers, FollowAWriterAfterACopyOfNoRows) {
  Random random(8);
  const MemoryLimit table(random, 100);
  Index writer = Index::open(table.directory(), {.writable = true, .durability = Durability::os});
  writer.erase_where(col("a") <= 1);
  writer.checkpoint();
  Index reader = table.open(1);
  ASSERT_EQ(reader.info().num_rows, 0u);
  if (num_devices() == 0) {
    EXPECT_THROW(static_cast<void>(reader.to_device()), CudaError);
  } else {
    EXPECT_EQ(reader.to_device().search({.weights = {1, 1, 1}, .k = 1}).hits.size(), 0u);
  }
  for (const std::int64_t first : {1'000, 2'000}) {
    writer.insert(RowTable(random, kSchema, some_rows(random, first, first + 50)).view());
    if (first == 1'000) writer.checkpoint();
    EXPECT_EQ(reader.refresh(), Refreshed::advanced);
    EXPECT_EQ(limited::difference_of_readers(reader, writer, random), "");
  }
  EXPECT_NE(version_of(reader)->logged, nullptr);
}

TEST(Readers, PlanWithinALimitOfMemory) {
  Random random(7);
  const MemoryLimit table(random, 2'000);
  Index writer = Index::open(table.directory(), {.writable = true, .durability = Durability::os});
  Index reader = table.open(1);
  const std::vector<Query> queries = {{.weights = {1, 1, 1}, .k = 3},
                                      {.weights = {1, -1, 0}, .k = 3, .scale = Scale::zscore}};
  for (int step = 0; step < 2; ++step) {
    for (const Query& query : queries) EXPECT_FALSE(reader.explain(query).text.empty());
    const Placement placement = reader.place(queries);
    EXPECT_EQ(placement.reason, writer.place(queries).reason);
    EXPECT_GT(placement.cpu_us, 0);
    writer.erase(std::vector<std::int64_t>{1, 2, 3});
    ASSERT_NE(reader.refresh(), Refreshed::replaced);
  }
  EXPECT_NE(version_of(reader)->logged, nullptr);
}

TEST(Readers, RefuseWhatNeedsAllRowsInMemory) {
  Random random(4);
  const MemoryLimit table(random, 2'000);
  const TemporaryDirectory other;
  const Index reader = table.open(1 << 20);
  EXPECT_THROW(reader.save(other.path() / "copy"), InvalidArgument);
  EXPECT_THROW(static_cast<void>(reader.verify()), InvalidArgument);
  EXPECT_THROW(static_cast<void>(reader.search({.weights = {1, 1, 1}, .k = 1}, {.engine = Engine::ta})),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(Index::open(table.directory(), {.max_memory = 1})), InvalidArgument);
  Index writer = Index::open(table.directory(), {.writable = true, .durability = Durability::os});
  writer.erase(std::vector<std::int64_t>{5});
  EXPECT_THROW(static_cast<void>(table.open(1 << 20).to_device()),
               InvalidArgument);  // a log is beside the files
}

}  // namespace
}  // namespace culmen::test
