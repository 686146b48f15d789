// Builds in temporary files: the same index to the byte as in memory, for every kind of table and partition.
//
// CULMEN_TEST_CASES=5000 api_test --gtest_filter='TempDirectory.*'    so many tables
// CULMEN_TEST_SEED=N api_test --gtest_filter='TempDirectory.*'        one table again, as a failure prints it
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "index/snapshot.h"
#include "index/storage/store.h"
#include "tests/cases.h"
#include "tests/error_of.h"
#include "tests/field_tables.h"
#include "tests/generators.h"
#include "tests/harness.h"
#include "tests/index/storage/memory_file_system.h"

namespace culmen {
std::shared_ptr<const Snapshot> snapshot_of(const Index& index);
}

namespace culmen::test {
namespace {

constexpr std::uint64_t kDefaultCases = 100;

using Files = std::map<std::string, storage::Bytes>;

Files files_of(const Index& index) {
  storage::MemoryFileSystem system;
  storage::save(*snapshot_of(index), system, "index", false);
  return system.files("index");
}

// The files of the index, or why it was refused.
struct Outcome {
  Files files;
  std::string refusal;
};

Outcome outcome_of(const TableView& table, const BuildOptions& options) {
  Outcome outcome;
  try {
    outcome.files = files_of(Index::build(table, options));
  } catch (const Error& error) {
    outcome.refusal = error.what();
  }
  return outcome;
}

BuildOptions random_options(Random& random, const Schema& schema) {
  BuildOptions options;
  options.leaf_rows = random.pick({16, 16, 16, 48});
  options.partitioning = random.pick({Partitioning::automatic, Partitioning::automatic, Partitioning::kd,
                                      Partitioning::angle, Partitioning::random});
  options.num_partitions = random.pick({0, 0, 1, 7, 60, 500});
  options.row_order = random.pick({RowOrder::automatic, RowOrder::sum});
  options.value_type = random.pick({ValueType::automatic, ValueType::automatic, ValueType::float32});
  options.duplicates = random.pick({Duplicates::error, Duplicates::first, Duplicates::last});
  options.num_threads = random.between(1, 4);
  if (random.chance(0.2)) {
    options.partitioning = Partitioning::kd;
    options.cluster = random.pick({schema.attributes.front().name, schema.attributes.back().name});
    if (!schema.fields.empty() && random.chance(0.7)) options.cluster = schema.fields.front().name;
  }
  return options;
}

std::vector<culmen::Row> random_rows(Random& random, RowSource& source) {
  std::vector<culmen::Row> rows = source.draw_many(random.chance(0.1) ? random.below(3) : random.below(4000));
  if (rows.size() > 2 && random.chance(0.3))
    for (std::uint64_t more = random.below(20); more > 0; --more)
      rows[random.below(rows.size())].id = rows[random.below(rows.size())].id;
  return rows;
}

TEST(TempDirectory, NeverChangesTheIndex) {
  const TemporaryDirectory directory;
  std::uint64_t num_built = 0, num_refused = 0;
  for (std::uint64_t c = 1; c <= num_cases(kDefaultCases); ++c) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : c;
    Random random(seed);
    RowSource source(random, random.pick({Precision::float32, Precision::float64}));
    const std::vector<culmen::Row> rows = random_rows(random, source);
    const RowTable table(random, source.schema(), rows, {.has_ids = random.chance(0.8)});
    BuildOptions options = random_options(random, source.schema());
    const Outcome in_memory = outcome_of(table.view(), options);
    options.temp_directory = directory.path();
    const Outcome in_files = outcome_of(table.view(), options);
    const std::string again = rerun_command(seed, "api_test", "TempDirectory.*");
    ASSERT_EQ(in_files.refusal, in_memory.refusal) << again;
    ASSERT_TRUE(in_files.files == in_memory.files) << again;
    in_memory.refusal.empty() ? ++num_built : ++num_refused;
    if (only_seed() != 0) return;
  }
  if (ran_all_cases(kDefaultCases)) {
    EXPECT_GT(num_built, kDefaultCases / 2);
    EXPECT_GT(num_refused, 0u);
  }
}

TEST(TempDirectory, NeverChangesTablesOfAllShapes) {
  const TemporaryDirectory directory;
  for (const ValueClass value_class : all_value_classes())
    for (const int width : {1, 2, 9, 70}) {
      if (kSanitized && width == 70) continue;  // takes a minute
      Random random(static_cast<std::uint64_t>(width));
      const Table table = random_table(random, value_class, 2000, width);
      BuildOptions options{.leaf_rows = 16, .num_threads = 2};
      const Outcome in_memory = outcome_of(table.view(), options);
      options.temp_directory = directory.path();
      const Outcome in_files = outcome_of(table.view(), options);
      ASSERT_EQ(in_files.refusal, in_memory.refusal);
      ASSERT_TRUE(in_files.files == in_memory.files) << value_class_name(value_class) << ", " << width;
    }
}

// Rows that were dropped by a reader.
TEST(TempDirectory, KeepsTheNumbersOfRows) {
  const TemporaryDirectory directory;
  Random random(3);
  Table table = random_table(random, ValueClass::uniform_f32, 3000, 3);
  table.ids.clear();
  TableView view = table.view();
  const std::vector<std::uint64_t> dropped = {0, 17, 18, 2999};
  view.dropped_rows = dropped;
  const Outcome in_memory = outcome_of(view, {.leaf_rows = 16});
  EXPECT_TRUE(outcome_of(view, {.leaf_rows = 16, .temp_directory = directory.path()}).files ==
              in_memory.files);
}

TEST(TempDirectory, KeepsIdsThatAreTexts) {
  const TemporaryDirectory directory;
  for (const Duplicates duplicates : {Duplicates::error, Duplicates::first, Duplicates::last}) {
    Random random(4);
    Table table = random_table(random, ValueClass::uniform_f32, 3000, 3);
    table.ids.clear();
    table.id_type = IdType::text;
    table.labels = {};
    for (std::size_t row = 0; row < table.num_rows; ++row) {
      const std::uint64_t number = duplicates == Duplicates::error ? row * 7919 % 3000 : random.below(1000);
      table.labels.append("sku-" + std::to_string(number));
    }
    BuildOptions options{.leaf_rows = 16, .duplicates = duplicates};
    const Outcome in_memory = outcome_of(table.view(), options);
    options.temp_directory = directory.path();
    const Outcome in_files = outcome_of(table.view(), options);
    EXPECT_EQ(in_memory.refusal, "");
    EXPECT_EQ(in_files.refusal, "");
    EXPECT_TRUE(in_files.files == in_memory.files);
  }
}

bool is_mapped(const std::filesystem::path& directory) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(directory.string()) != std::string::npos) return true;
  return false;
}

// The index is in files that have no names, and they go with it.
TEST(TempDirectory, HasFilesWithoutNames) {
  const TemporaryDirectory directory;
  Random random(1);
  const Table table = random_table(random, ValueClass::uniform_f64, 3000, 4);
  bool was_mapped = false;
  BuildOptions options{.temp_directory = directory.path()};
  options.on_progress = [&](std::string_view phase, double) {
    if (phase == "scattering") was_mapped = is_mapped(directory.path());
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  };
  {
    const Index index = Index::build(table.view(), options);
    EXPECT_TRUE(was_mapped);
    EXPECT_TRUE(is_mapped(directory.path()));
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  }
  EXPECT_FALSE(is_mapped(directory.path()));
}

// An index that was not saved is one like any other.
TEST(TempDirectory, HoldsAnIndexThatChanges) {
  const TemporaryDirectory directory;
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 2 : 5); ++seed) {
    Random random(seed);
    RowSource source(random, Precision::float64, 3);
    const RowTable first(random, source.schema(), source.draw_many(2000));
    Index in_memory = Index::build(first.view(), {.leaf_rows = 16});
    Index in_files = Index::build(first.view(), {.leaf_rows = 16, .temp_directory = directory.path()});
    for (int batch = 0; batch < 20; ++batch) {
      const RowTable more(random, source.schema(), source.draw_many(random.below(300)));
      for (Index* index : {&in_memory, &in_files}) {
        index->insert(more.view());
        index->erase(std::vector<std::int64_t>{first.view().ids[static_cast<std::size_t>(batch)]});
      }
    }
    ASSERT_TRUE(files_of(in_files) == files_of(in_memory)) << seed;
  }
}

// In the order of their ids. Infinity is in place of NaN, which equals nothing.
std::vector<std::optional<culmen::Row>> rows_of(const Index& index) {
  std::vector<std::int64_t> ids = index.ids_where({});
  std::ranges::sort(ids);
  std::vector<std::optional<culmen::Row>> rows = index.get(ids);
  for (std::optional<culmen::Row>& row : rows)
    for (double& value : row->values)
      if (std::isnan(value)) value = kInfinity;
  return rows;
}

// With batches in the log and without, which are read beside the snapshot.
TEST(TempDirectory, NeverChangesWhatIsCompacted) {
  const TemporaryDirectory directory;
  for (std::uint64_t seed = 1; seed <= num_cases(40); ++seed) {
    Random random(seed);
    RowSource source(random, random.pick({Precision::float32, Precision::float64}), random.between(1, 4));
    const RowTable first(random, source.schema(), source.draw_many(1 + random.below(3000)));
    const std::filesystem::path path = directory.path() / std::to_string(seed);
    Index in_memory = Index::build(first.view(), {.leaf_rows = 16});
    in_memory.save(path);
    Index index = Index::open(path, {.writable = true, .loading = Loading::on_touch});
    const std::uint64_t num_batches = random.below(4);
    for (std::uint64_t batch = 0; batch < num_batches; ++batch) {
      const RowTable more(random, source.schema(), source.draw_many(random.below(100)));
      const std::vector<std::int64_t> erased = {first.view().ids[random.below(first.view().num_rows)]};
      for (Index* one : {&in_memory, &index}) {
        one->insert(more.view());
        one->erase(erased);
      }
    }
    const std::uint64_t version = index.version();
    in_memory.compact();
    index.compact({.temp_directory = directory.path()});
    ASSERT_EQ(index.version(), version + 1) << seed;
    ASSERT_TRUE(rows_of(index) == rows_of(in_memory)) << seed;
    if (num_batches == 0) {
      ASSERT_TRUE(files_of(index) == files_of(in_memory)) << seed;
    }
    ASSERT_TRUE(Index::open(path).verify().empty()) << seed;
    index.insert(RowTable(random, source.schema(), source.draw_many(5)).view());
    index.close();
    ASSERT_EQ(rows_of(Index::open(path)).size(), rows_of(in_memory).size() + 5) << seed;
  }
}

std::string refusal_of(const std::filesystem::path& directory, std::size_t num_rows = 100) {
  Random random(1);
  const Table table = random_table(random, ValueClass::uniform_f64, num_rows, 2);
  try {
    static_cast<void>(Index::build(table.view(), {.temp_directory = directory}));
  } catch (const IoError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kRemedy =
    "; name a directory that is there and can be written, and keep it as long as what is built in it is "
    "changed";

TEST(TempDirectory, IsNamedIfItCannotBeWritten) {
  const TemporaryDirectory directory;
  const std::filesystem::path missing = directory.path() / "missing", file = directory.path() / "file";
  std::ofstream(file) << "text";
  EXPECT_EQ(refusal_of(missing),
            "cannot make a temporary file in " + missing.string() + ": No such file or directory" + kRemedy);
  EXPECT_EQ(refusal_of(file),
            "cannot make a temporary file in " + file.string() + ": Not a directory" + kRemedy);
}

// Changes may need further files.
TEST(TempDirectory, IsKeptWhileTheIndexIsChanged) {
  const TemporaryDirectory directory;
  const std::filesystem::path gone = directory.path() / "gone";
  std::filesystem::create_directory(gone);
  Random random(2);
  const Table table = random_table(random, ValueClass::uniform_f64, 150'000, 3);
  Index index = Index::build(table.view(), {.temp_directory = gone});
  std::filesystem::remove(gone);
  const Query query = {.weights = {1, -2, 3}, .k = 20};
  const std::vector<Hit> before = index.search(query).hits;
  const std::array<std::int64_t, 1> first = {before[0].id};
  EXPECT_EQ(error_of<IoError>([&] { index.erase(first); }),
            "cannot make a temporary file in " + gone.string() + ": No such file or directory" + kRemedy);
  EXPECT_EQ(index.search(query).hits, before);
  std::filesystem::create_directory(gone);
  index.erase(first);
  EXPECT_EQ(index.search(query).hits[0].id, before[1].id);
}

// Room is reserved before anything is written: the limit of a file's size stands for a full disk.
TEST(TempDirectory, IsNamedIfItIsFull) {
  const TemporaryDirectory directory;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit low = {1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string refusal = refusal_of(directory.path(), 200'000);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(refusal.find(" bytes for a temporary file in " + directory.path().string() + ": "),
            std::string::npos)
      << refusal;
  EXPECT_NE(refusal.find("; name a directory with more room"), std::string::npos) << refusal;
}

TEST(TempDirectory, IsNotForGpus) {
  const TemporaryDirectory directory;
  Random random(1);
  const Table table = random_table(random, ValueClass::uniform_f64, 100, 2);
  EXPECT_THROW(
      static_cast<void>(Index::build(table.view(), {.device = 0, .temp_directory = directory.path()})),
      InvalidArgument);
}

}  // namespace
}  // namespace culmen::test
