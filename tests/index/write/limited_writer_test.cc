// Writers that keep the tree of the files as it is, and what they change beside it (OpenOptions::max_memory): their lives, beside
// those of writers that have all rows in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "index/logged_rows.h"
#include "index/snapshot.h"
#include "tests/cases.h"
#include "tests/error_of.h"
#include "tests/field_tables.h"
#include "tests/harness.h"
#include "tests/index/write/limited_answers.h"
#include "tests/resident_memory.h"

namespace culmen::test {
namespace {

using limited::kSchema;
using limited::some_rows;

// Sends the same batches to a writer within a limit of memory and to one without; each has its own directory.
class TwoWriters {
 public:
  TwoWriters(std::uint64_t seed, std::int64_t num_rows) : random_(seed), most_id_(num_rows + 40) {
    const RowTable table(random_, kSchema, some_rows(random_, 0, num_rows));
    const Index built = Index::build(table.view(), {.leaf_rows = 16, .value_type = ValueType::float64});
    for (const char* name : {"limited", "whole"}) built.save(folder_.path() / name);
    open();
  }

  Random& random() { return random_; }
  Index& limited() { return *limited_; }
  Index& whole() { return *whole_; }
  std::filesystem::path directory() const { return folder_.path() / "limited"; }

  void open() {
    const std::uint64_t most = random_.pick<std::uint64_t>({1, 20'000, 200'000, 10'000'000});
    const Durability durability = random_.pick({Durability::sync, Durability::os, Durability::batch});
    limited_ = Index::open(directory(), {.writable = true,
                                         .durability = durability,
                                         .num_threads = random_.between(1, 2),
                                         .loading = Loading::on_touch,
                                         .max_memory = most});
    whole_ = Index::open(folder_.path() / "whole", {.writable = true, .durability = durability});
  }
  void close(bool in_order) {
    if (in_order) limited_->close(), whole_->close();
    limited_.reset();
    whole_.reset();
  }

  // Returns what the two do otherwise; empty: nothing.
  std::string step() {
    std::vector<culmen::Row> inserted, upserted;
    std::vector<std::int64_t> erased;
    for (int i = random_.between(0, random_.pick({3, 30, 300})); i > 0; --i) {
      const std::int64_t id = random_.between(0, static_cast<int>(most_id_));
      switch (random_.below(4)) {
        case 0:
          add_once(inserted, id);
          break;
        case 1:
          add_once(upserted, id);
          break;
        default:
          erased.push_back(id);
      }
    }
    // Most of them are there, and one that is refuses the batch.
    if (random_.chance(0.8))
      std::erase_if(inserted, [&](const culmen::Row& row) { return whole_->contains(row.id); });
    const bool are_assigned = random_.chance(0.3), erases_first = random_.chance(0.5);
    const RowTable insert(random_, kSchema, inserted, {.has_ids = !are_assigned}),
        upsert(random_, kSchema, upserted);
    WriteBatch batch;
    if (erases_first) batch.erase(erased);
    if (!inserted.empty()) batch.insert(insert.view());
    if (random_.chance(0.3))
      batch.erase_where(col("place") == static_cast<int>(random_.below(10)) && col("a") > 0.5);
    if (!upserted.empty()) batch.upsert(upsert.view());
    if (!erases_first) batch.erase(erased);
    WriteOptions options;
    if (random_.chance(0.3)) options.expected_version = whole_->version() - random_.below(2);
    const Done of_limited = write(*limited_, batch, options), of_whole = write(*whole_, batch, options);
    if (of_limited.error != of_whole.error) return of_limited.error + " instead of " + of_whole.error;
    if (of_limited.result != of_whole.result) return "another result of a batch";
    most_id_ = std::max(most_id_, whole_->info().next_id + 3);
    return "";
  }

  std::string difference() {
    if (limited_->version() != whole_->version()) return "another version";
    if (limited_->info().num_rows != whole_->info().num_rows) return "another number of rows";
    if (limited_->info().next_id != whole_->info().next_id) return "another next id";
    return difference_of(*limited_, *whole_);
  }

  // Of any version.
  std::string difference_of(const Index& limited, const Index& whole) {
    if (std::string fault = limited::difference_of_readers(limited, whole, random_); !fault.empty())
      return fault;
    const Filter where = col("place") == static_cast<int>(random_.below(10)) || id_col() < 7;
    if (limited.ids_where(where) != whole.ids_where(where)) return "other ids that pass";
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(random_.between(0, static_cast<int>(most_id_)));
    return limited.get(ids) == whole.get(ids) ? "" : "other rows";
  }

 private:
  struct Done {
    std::optional<std::vector<std::uint64_t>> result;
    std::string error;
  };

  void add_once(std::vector<culmen::Row>& rows, std::int64_t id) {
    const auto has_id = [id](const culmen::Row& row) { return row.id == id; };
    if (std::ranges::none_of(rows, has_id)) rows.push_back(limited::row_of(random_, id));
  }

  static Done write(Index& index, const WriteBatch& batch, const WriteOptions& options) {
    try {
      const WriteResult done = index.write(batch, options);
      return {{{done.version, done.inserted, done.replaced, done.erased,
                static_cast<std::uint64_t>(done.first_id), std::uint64_t{done.repeated}}},
              ""};
    } catch (const InputError& error) {
      return {{}, error.what()};
    }
  }

  Random random_;
  std::int64_t most_id_;
  const TemporaryDirectory folder_;
  std::optional<Index> limited_, whole_;
};

// Within limits so small that nearly every batch makes one tree, and so large that few do.
TEST(LimitedWriter, DoesWhatAWriterWithAllRowsDoes) {
  for (std::uint64_t seed = 1; seed <= num_cases(6); ++seed) {
    TwoWriters two(seed, seed % 3 == 0 ? 40 : 1'500);
    std::uint64_t num_beside = 0;
    for (int life = 0; life < 4; ++life) {
      Index reader =
          Index::open(two.directory(), {.loading = two.random().pick({Loading::on_touch, Loading::whole})});
      for (int turn = two.random().between(1, 25); turn > 0; --turn) {
        const Index before = two.limited().snapshot(), before_whole = two.whole().snapshot();
        ASSERT_EQ(two.step(), "") << "seed " << seed << ", life " << life;
        if (two.random().chance(0.1)) two.limited().checkpoint();
        if (two.random().chance(0.05)) two.limited().compact(), two.whole().compact();
        ASSERT_EQ(two.difference(), "") << "seed " << seed << ", life " << life;
        ASSERT_EQ(two.difference_of(before, before_whole), "") << "seed " << seed << ", before a batch";
        num_beside += version_of(two.limited())->logged != nullptr;
        if (!two.random().chance(0.3)) continue;
        two.limited().flush();
        reader.refresh();
        ASSERT_EQ(reader.version(), two.whole().version());
        ASSERT_EQ(two.difference_of(reader, two.whole()), "") << "seed " << seed << ", of a reader";
      }
      two.limited().flush();
      two.whole().flush();
      two.close(two.random().chance(0.5));
      ASSERT_EQ(Index::open(two.directory()).verify(), std::vector<std::string>()) << "seed " << seed;
      two.open();
      ASSERT_EQ(two.difference(), "") << "seed " << seed << ", opened again";
    }
    EXPECT_GT(num_beside, 0u) << seed;
  }
}

// What nobody has built yet is in memory, until that is more than half of the limit. The first rows determine the stand-ins.
TEST(LimitedWriter, FillsAnIndexThatWasEmpty) {
  Random random(7);
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  Index::create(kSchema, {.leaf_rows = 16, .value_type = ValueType::float64}).save(path);
  Index whole = Index::create(kSchema, {.leaf_rows = 16, .value_type = ValueType::float64});
  Index index = Index::open(
      path,
      {.writable = true, .durability = Durability::os, .loading = Loading::on_touch, .max_memory = 100'000});
  for (std::int64_t first = 0; first < 3'000; first += 300) {
    const RowTable rows(random, kSchema, some_rows(random, first, first + 300));
    index.insert(rows.view());
    whole.insert(rows.view());
    ASSERT_EQ(limited::difference_of_readers(index, whole, random), "") << first;
  }
  EXPECT_NE(version_of(index)->logged, nullptr);
  index.erase_where(id_col() >= 0);
  EXPECT_EQ(index.info().num_rows, 0u);
  index.checkpoint();
  const RowTable rows(random, kSchema, some_rows(random, 0, 40));
  index.insert(rows.view());
  EXPECT_EQ(index.info().num_rows, 40u);
  index.close();
  EXPECT_EQ(Index::open(path).verify(), std::vector<std::string>());
}

// It is written as one tree, and not logged.
TEST(LimitedWriter, WritesABatchOfAMillionRowsAtOnce) {
  constexpr std::size_t kRows = kSanitized ? 1'000 : 1'000'000;
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  const std::vector<float> first = {3, 1, 2};
  Index::build(row_major_table<float>(first, {{"a"}})).save(path);
  Index index = Index::open(
      path,
      {.writable = true, .durability = Durability::os, .loading = Loading::on_touch, .max_memory = 1 << 20});
  index.erase(std::vector<std::int64_t>{1});
  std::vector<float> many(kRows);
  for (std::size_t row = 0; row < kRows; ++row) many[row] = static_cast<float>(row * 7 % kRows);
  EXPECT_EQ(index.insert(row_major_table<float>(many, {{"a"}})).first_id, 3);
  EXPECT_TRUE(kSanitized || version_of(index)->logged == nullptr);
  const SearchResult best = index.search({.weights = {1}, .k = 2});
  EXPECT_EQ(best.hits[0].score, static_cast<double>(kRows - 1));
  EXPECT_EQ(best.hits[1].score, static_cast<double>(kRows - 2));
  index.insert(row_major_table<float>(first, {{"a"}}));
  EXPECT_EQ(index.info().num_rows, kRows + 5);
  index.close();
  EXPECT_EQ(Index::open(path).verify(), std::vector<std::string>());
}

TEST(LimitedWriter, KeepsToItsLimitOfMemory) {
  if (kSanitized || !tells_resident_bytes()) GTEST_SKIP();
  constexpr std::uint64_t kMost = 4 << 20;
  Random random(9);
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  std::vector<float> values(8 * 150'000);
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  std::vector<Attribute> attributes;
  for (int i = 0; i < 8; ++i) attributes.push_back({std::string("a").append(std::to_string(i))});
  Index::build(row_major_table<float>(values, attributes)).save(path);
  values.resize(8 * 1'000);
  Index index = Index::open(path, {.writable = true,
                                   .durability = Durability::os,
                                   .num_threads = 1,
                                   .loading = Loading::on_touch,
                                   .max_memory = kMost});
  std::uint64_t num_merges = 0;
  const std::size_t before = anonymous_bytes();
  std::size_t most = 0;
  std::shared_ptr<const Snapshot> last;
  for (int batch = 0; batch < 50; ++batch) {
    for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
    index.insert(row_major_table<float>(values, attributes));
    const std::shared_ptr<const Snapshot> base = version_of(index)->logged->base;
    num_merges += std::exchange(last, base) != base;
    most = std::max(most, anonymous_bytes());
    static_cast<void>(index.search({.weights = std::vector<double>(8, 1.0), .k = 16}));
  }
  EXPECT_GT(num_merges, 2u);
  EXPECT_LT(most, before + 6 * kMost);
}

TEST(LimitedWriter, TakesATableOfMoreThan64Attributes) {
  constexpr int kAttributes = 70;
  Random random(10);
  const TemporaryDirectory folder;
  std::vector<Attribute> attributes;
  for (int i = 0; i < kAttributes; ++i) attributes.push_back({std::string("a").append(std::to_string(i))});
  const auto table = [&](std::vector<float>& values, std::size_t num_rows) {
    values.resize(num_rows * kAttributes);
    for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
    return row_major_table<float>(values, attributes);
  };
  std::vector<float> values;
  const Index built = Index::build(table(values, 500), {.leaf_rows = 16});
  for (const char* name : {"limited", "whole"}) built.save(folder.path() / name);
  Index limited = Index::open(folder.path() / "limited",
                              {.writable = true, .loading = Loading::on_touch, .max_memory = 300'000});
  Index whole = Index::open(folder.path() / "whole", {.writable = true});
  for (int turn = 0; turn < 20; ++turn) {
    const TableView rows = table(values, 1 + random.below(60));
    const std::vector<std::int64_t> erased = {random.between(0, 600), random.between(0, 600)};
    for (Index* index : {&limited, &whole}) index->write(WriteBatch().insert(rows).erase(erased));
    Query query = {.weights = std::vector<double>(kAttributes), .k = 20};
    for (double& weight : query.weights) weight = random.uniform(-1, 1);
    query.scale = random.pick({Scale::none, Scale::minmax});
    const std::vector<Hit> found = limited.search(query).hits, expected = whole.search(query).hits;
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
      ASSERT_EQ(found[rank].id, expected[rank].id) << "turn " << turn;
      ASSERT_EQ(found[rank].score, expected[rank].score) << "turn " << turn;
    }
  }
  limited.close();
  EXPECT_EQ(Index::open(folder.path() / "limited").verify(), std::vector<std::string>());
}

}  // namespace
}  // namespace culmen::test
