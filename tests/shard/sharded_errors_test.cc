// Sharded indexes that are refused: every error has its type and names the shard.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/sharded_index.h"
#include "shard/shard_manifest.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

namespace fs = std::filesystem;

class ShardedErrors : public ::testing::Test {
 protected:
  ShardedErrors() { build(directory()); }

  fs::path directory() const { return temporary_.path() / "s"; }
  fs::path shard(int number) const { return directory() / ("shard-1-" + std::to_string(number)); }

  static void build(const fs::path& where, bool overwrite = false) {
    const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    TableView table;
    table.num_rows = values.size();
    table.attributes = {{"a"}};
    table.columns = {ColumnView(values)};
    ShardedIndex::build(table, where, {.num_shards = 3, .overwrite = overwrite});
  }

  // The text of the error of that type.
  template <typename Expected>
  static std::string text_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Expected& error) {
      return error.what();
    } catch (const std::exception& error) {
      return std::string("another type: ") + error.what();
    }
    return "no error";
  }
  template <typename Expected>
  std::string opening() const {
    return text_of<Expected>([this] { static_cast<void>(ShardedIndex::open(directory())); });
  }

  const TemporaryDirectory temporary_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

TEST_F(ShardedErrors, AMissingShardIsNamed) {
  fs::remove_all(shard(1));
  for (int round = 0; round < 2; ++round) {
    const std::string text = opening<IoError>();
    EXPECT_TRUE(contains(text, "shard 1 of ") && contains(text, "restore its directory")) << text;
    EXPECT_EQ(text_of<NoIndex>([this] { static_cast<void>(ShardedIndex::open(directory())); }),
              "another type: " + text);
    EXPECT_TRUE(
        contains(text_of<IoError>([this] { ShardedIndex::rebalance(directory(), 2); }), "shard 1 of "));
    fs::create_directory(shard(1));
  }
}

TEST_F(ShardedErrors, ADamagedShardIsNamed) {
  for (const auto& file : fs::directory_iterator(shard(2)))
    if (file.path().filename().string().ends_with("-leaves")) {
      std::string text = read_file(file.path());
      text[text.size() / 2] ^= 1;
      write_file(file.path(), text);
    }
  EXPECT_TRUE(contains(opening<FormatError>(), "shard 2 of ")) << opening<FormatError>();
}

TEST_F(ShardedErrors, AnotherIndexInTheDirectoryOfAShardIsNamed) {
  build(temporary_.path() / "other");
  fs::remove_all(shard(0));
  fs::rename(temporary_.path() / "other" / "shard-1-0", shard(0));
  EXPECT_TRUE(contains(opening<FormatError>(), "shard 0 of ")) << opening<FormatError>();
}

TEST_F(ShardedErrors, AnOlderShardIsNamed) {
  fs::copy(shard(1), temporary_.path() / "old", fs::copy_options::recursive);
  {
    ShardedIndex index = ShardedIndex::open(directory(), {.writable = true});
    std::vector<std::int64_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(index.erase(all), 9u);
    index.close();
  }
  fs::remove_all(shard(1));
  fs::rename(temporary_.path() / "old", shard(1));
  EXPECT_TRUE(contains(opening<FormatError>(), "shard 1 of ")) << opening<FormatError>();
}

TEST_F(ShardedErrors, EveryFlippedBitOfTheManifestIsSeen) {
  const fs::path manifest = directory() / "SHARDS";
  const std::string good = read_file(manifest);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    const std::string text =
        text_of<FormatError>([&] { static_cast<void>(parse_shard_manifest(bad, "SHARDS")); });
    EXPECT_FALSE(contains(text, "another type") || text == "no error") << bit << ": " << text;
    EXPECT_TRUE(bit / 8 <= good.find('\n') || contains(text, "checksum")) << bit << ": " << text;
  }
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(static_cast<void>(parse_shard_manifest(good.substr(0, size), "SHARDS")), FormatError)
        << size;
  EXPECT_EQ(to_text(parse_shard_manifest(good, "SHARDS")), good);
}

TEST_F(ShardedErrors, AnotherFormatVersionIsNamed) {
  const fs::path manifest = directory() / "SHARDS";
  const std::string good = read_file(manifest);
  std::string other = good;
  other.replace(other.find(" 1 "), 3, " 2 ");
  write_file(manifest, other);
  EXPECT_TRUE(contains(opening<FormatError>(), "another format")) << opening<FormatError>();
  write_file(manifest, good);
  write_file(shard(1) / "CURRENT", "culmen-index 99\n");
  EXPECT_TRUE(contains(opening<FormatError>(), "shard 1 of ")) << opening<FormatError>();
  EXPECT_TRUE(
      contains(text_of<FormatError>([this] { ShardedIndex::rebalance(directory(), 2); }), "shard 1 of "));
  EXPECT_TRUE(fs::exists(shard(0)));
}

TEST_F(ShardedErrors, OneWriterAtATime) {
  const ShardedIndex writer = ShardedIndex::open(directory(), {.writable = true});
  EXPECT_THROW(static_cast<void>(ShardedIndex::open(directory(), {.writable = true})), IoError);
  EXPECT_THROW(ShardedIndex::rebalance(directory(), 2), IoError);
  EXPECT_THROW(build(directory(), true), IoError);
  EXPECT_NO_THROW(static_cast<void>(ShardedIndex::open(directory())));
}

TEST_F(ShardedErrors, AnIndexIsNoShardedIndexAndTheOtherWayRound) {
  EXPECT_TRUE(contains(text_of<NoIndex>([this] { static_cast<void>(Index::open(directory())); }), "sharded"));
  EXPECT_THROW(static_cast<void>(ShardedIndex::open(shard(0))), NoIndex);
  EXPECT_THROW(build(directory()), InvalidArgument);
  build(directory(), true);
  EXPECT_EQ(ShardedIndex::open(directory()).info().num_rows, 9u);
  EXPECT_FALSE(fs::exists(shard(0)));
}

TEST_F(ShardedErrors, EitherKindReplacesTheOtherIfItIsSaid) {
  const auto names = [this] {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory())) found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  };
  const Index one = Index::open(shard(0));
  ShardedIndex many = ShardedIndex::open(directory());
  EXPECT_TRUE(contains(text_of<InvalidArgument>([&] { one.save(directory()); }), "holds a sharded index"));
  one.save(directory(), {.overwrite = true});
  EXPECT_EQ(Index::open(directory()).info().num_rows, one.info().num_rows);
  EXPECT_EQ(Index::open(directory()).verify(), std::vector<std::string>());
  EXPECT_TRUE(std::ranges::none_of(names(), [](const auto& name) { return name.starts_with("shard"); }));
  EXPECT_THROW(static_cast<void>(ShardedIndex::open(directory())), NoIndex);
  EXPECT_THROW(many.refresh(), NoIndex);
  EXPECT_EQ(many.info().num_rows, 9u);

  Index reader = Index::open(directory());
  EXPECT_TRUE(contains(text_of<InvalidArgument>([this] { build(directory()); }), "holds an index"));
  {
    const Index writer = Index::open(directory(), {.writable = true});
    EXPECT_THROW(build(directory(), true), IoError);
  }
  EXPECT_EQ(Index::open(directory()).info().num_rows, one.info().num_rows);
  build(directory(), true);
  EXPECT_EQ(names(), (std::vector<std::string>{"LOCK", "SHARDS", "shard-1-0", "shard-1-1", "shard-1-2"}));
  EXPECT_EQ(ShardedIndex::open(directory()).info().num_rows, 9u);
  EXPECT_THROW(reader.refresh(), NoIndex);
  EXPECT_EQ(reader.info().num_rows, one.info().num_rows);
  EXPECT_EQ(many.refresh(), Refreshed::replaced);
}

// As if a process had died between its last two steps.
TEST_F(ShardedErrors, ShardsCountBesideAnIndex) {
  Index::open(shard(0)).save(temporary_.path() / "one");
  fs::copy(temporary_.path() / "one", directory(), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(contains(text_of<NoIndex>([this] { static_cast<void>(Index::open(directory())); }), "sharded"));
  EXPECT_EQ(ShardedIndex::open(directory()).info().num_rows, 9u);
  ShardedIndex::rebalance(directory(), 2);
  EXPECT_FALSE(fs::exists(directory() / "CURRENT"));
  EXPECT_EQ(ShardedIndex::open(directory()).info().num_rows, 9u);
}

TEST_F(ShardedErrors, OtherFilesAreNotReplaced) {
  const fs::path other = temporary_.path() / "other";
  fs::create_directory(other);
  std::ofstream(other / "notes.txt") << "mine";
  EXPECT_THROW(build(other, true), InvalidArgument);
  fs::remove(other / "notes.txt");
  std::ofstream(other / "CURRENT") << "of another program";
  EXPECT_TRUE(contains(text_of<InvalidArgument>([&] { build(other, true); }), "not written by culmen"));
  EXPECT_TRUE(fs::exists(other / "CURRENT"));
  fs::rename(other / "CURRENT", directory() / "CURRENT");
  ShardedIndex::rebalance(directory(), 2);
  EXPECT_THROW(build(directory(), true), InvalidArgument);
  EXPECT_THROW(Index::open(directory() / "shard-2-0").save(directory(), {.overwrite = true}),
               InvalidArgument);
  EXPECT_TRUE(fs::exists(directory() / "CURRENT"));
  EXPECT_EQ(ShardedIndex::open(directory()).info().num_rows, 9u);
}

TEST_F(ShardedErrors, ARefusedBatchChangesNoShard) {
  ShardedIndex index = ShardedIndex::open(directory(), {.writable = true});
  const std::vector<std::uint64_t> before = index.versions();
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::int64_t> ids = {100, 101, 102, 103, 104, 105, 106, 4};
  TableView rows;
  rows.num_rows = values.size();
  rows.columns = {ColumnView(values)};
  rows.ids = ids;
  try {
    index.insert(rows);
    FAIL() << "id 4 is there already";
  } catch (const RowError& error) {
    EXPECT_EQ(error.row(), 7u);
  }
  EXPECT_EQ(index.versions(), before);
  EXPECT_THROW(index.insert(rows, {.expected_version = 1}), InvalidArgument);
}

// While it lives, this process makes no file longer than this; as a full disk does.
class OutOfSpace {
 public:
  explicit OutOfSpace(std::uintmax_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const ::rlimit now = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~OutOfSpace() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  OutOfSpace(const OutOfSpace&) = delete;
  OutOfSpace& operator=(const OutOfSpace&) = delete;

 private:
  ::rlimit before_ = {};
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

// Rows with one value, of those ids from `first` on that belong to the shard; nullopt: to any.
std::uint64_t upsert(ShardedIndex& index, std::int64_t first, std::size_t count, double value,
                     std::optional<std::uint32_t> shard = {}) {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = first; ids.size() < count; ++id)
    if (!shard || shard_of(id, index.num_shards()) == *shard) ids.push_back(id);
  const std::vector<double> values(count, value);
  TableView rows;
  rows.num_rows = count;
  rows.columns = {ColumnView(values)};
  rows.ids = ids;
  return index.upsert(rows).version;
}

TEST_F(ShardedErrors, AShardThatCannotWriteEndsTheWriting) {
  for (const std::uint32_t full : {0u, 2u}) {
    build(directory(), true);
    const Query sevens = {.weights = {1}, .k = 1000, .where = col("a") == 77.0};
    {
      ShardedIndex index = ShardedIndex::open(directory(), {.writable = true});
      upsert(index, 1000, 3000, 0.5, full);  // its log is the longest
      const std::vector<std::uint64_t> before = index.versions();
      std::string text;
      {
        const fs::path log = directory() / index.shards()[full].directory / "WAL-1";
        const OutOfSpace full_disk(fs::file_size(log) + 40);
        text = text_of<IoError>([&] { upsert(index, 100, 60, 77); });
      }
      EXPECT_TRUE(text.starts_with("shard " + std::to_string(full) + " of ")) << text;
      EXPECT_TRUE(contains(text, full == 0 ? "; the batch is in no other shard. No more changes"
                                           : "; the batch is in the shards 0 1. No more changes"))
          << text;
      for (std::uint32_t other = 0; other < 3; ++other)
        EXPECT_EQ(text_of<IoError>([&] { upsert(index, 9000, 1, 77, other); }), text);
      EXPECT_EQ(index.refresh(), Refreshed::unchanged);
      EXPECT_EQ(index.versions(), before);
      EXPECT_TRUE(index.search(sevens).hits.empty());
    }
    ShardedIndex index = ShardedIndex::open(directory(), {.writable = true});
    EXPECT_EQ(index.search(sevens).hits.empty(), full == 0);
    upsert(index, 100, 60, 77);
    EXPECT_EQ(index.search(sevens).hits.size(), 60u);
  }
}

TEST_F(ShardedErrors, TablesThatAreRefusedLeaveNothingBehind) {
  TableView bad;
  bad.num_rows = 1;
  bad.attributes = {{"a"}};
  const std::vector<double> values = {std::numeric_limits<double>::infinity()};
  bad.columns = {ColumnView(values)};
  const fs::path fresh = temporary_.path() / "fresh";
  EXPECT_THROW(ShardedIndex::build(bad, fresh, {.num_shards = 2}), RowError);
  bad.num_rows = 0;
  EXPECT_THROW(ShardedIndex::build(bad, fresh, {.num_shards = 2}), InputError);
  EXPECT_FALSE(fs::exists(fresh));
  EXPECT_THROW(ShardedIndex::rebalance(directory(), 0), InvalidArgument);
  EXPECT_THROW(ShardedIndex::rebalance(directory(), kMaxShards + 1), InvalidArgument);
}

}  // namespace
}  // namespace culmen::test
