// What a reader sees when another index replaces its directory: uuid and version identify an index, not the version
// alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

namespace fs = std::filesystem;

// Rows 0 .. count-1 with the values first, first+1, ...
Index build_from(double first, std::size_t count = 50, const std::string& name = "a") {
  std::vector<double> a, b;
  for (std::size_t r = 0; r < count; ++r) {
    a.push_back(first + static_cast<double>(r));
    b.push_back(1);
  }
  TableView table{count, {{name}, {"b"}}, {}, {}, {}};
  table.columns = {a, b};
  return Index::build(table, {.leaf_rows = 16});
}

void insert_one(Index& index, double value) {
  const double b = 1;
  TableView row{1, {}, {}, {}, {}};
  row.columns = {ColumnView(&value, 1), ColumnView(&b, 1)};
  index.insert(row);
}

double best(const Index& index, Engine engine = Engine::automatic) {
  return index.search({.weights = {1, 0}, .k = 1}, {.engine = engine}).hits.at(0).score;
}

class ReplacedDirectory : public ::testing::Test {
 protected:
  fs::path path(const std::string& name = "index") const { return folder_.path() / name; }

 private:
  TemporaryDirectory folder_;
};

TEST_F(ReplacedDirectory, IsSeenThoughBothIndexesAreOfTheSameVersion) {
  build_from(0).save(path());
  Index reader = Index::open(path());
  const std::string uuid = reader.info().uuid;
  ASSERT_EQ(uuid.size(), 32u);
  build_from(1000).save(path(), {.overwrite = true});
  EXPECT_EQ(reader.refresh(), Refreshed::replaced);
  EXPECT_EQ(reader.version(), 1u);
  EXPECT_NE(reader.info().uuid, uuid);
  EXPECT_EQ(best(reader), 1049);
  EXPECT_EQ(reader.refresh(), Refreshed::unchanged);
}

TEST_F(ReplacedDirectory, IsSaidToBeOneWhereVersionsGoBack) {
  build_from(0).save(path());
  {
    Index writer = Index::open(path(), {.writable = true});
    for (int i = 0; i < 5; ++i) insert_one(writer, i);
  }
  Index reader = Index::open(path());
  ASSERT_EQ(reader.version(), 6u);
  build_from(1000).save(path(), {.overwrite = true});
  EXPECT_EQ(reader.refresh(), Refreshed::replaced);
  EXPECT_EQ(reader.version(), 1u);
  Index writer = Index::open(path(), {.writable = true});
  insert_one(writer, 5000);
  EXPECT_EQ(reader.refresh(), Refreshed::advanced);
  EXPECT_EQ(best(reader), 5000);
}

TEST_F(ReplacedDirectory, KeepsItsUuidThroughAllChanges) {
  build_from(0).save(path());
  Index writer = Index::open(path(), {.writable = true});
  Index reader = Index::open(path());
  const std::string uuid = reader.info().uuid;
  insert_one(writer, 100);
  EXPECT_EQ(reader.refresh(), Refreshed::advanced);
  writer.checkpoint();
  EXPECT_EQ(reader.refresh(), Refreshed::unchanged) << "the same version in other files";
  writer.compact();
  EXPECT_EQ(reader.refresh(), Refreshed::advanced);
  std::vector<std::int64_t> all(60);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  writer.erase(all);  // and opened anew
  insert_one(writer, 200);
  EXPECT_EQ(reader.refresh(), Refreshed::advanced);
  EXPECT_EQ(reader.info().uuid, uuid);
  EXPECT_EQ(writer.info().uuid, uuid);
  EXPECT_EQ(Index::open(path()).info().uuid, uuid);
  EXPECT_TRUE(build_from(0).info().uuid.empty());
  writer.save(path("copy"));
  EXPECT_NE(Index::open(path("copy")).info().uuid, uuid) << "from here on they change apart";
}

// Another directory takes the same path, by rename or by a link to it.
TEST_F(ReplacedDirectory, IsFollowedToWhereThePathLeads) {
  build_from(0).save(path());
  build_from(1000).save(path("next"));
  Index reader = Index::open(path());
  fs::rename(path(), path("old"));
  EXPECT_THROW(reader.refresh(), IoError) << "for a moment there is none";
  EXPECT_EQ(best(reader), 49);
  fs::rename(path("next"), path());
  EXPECT_EQ(reader.refresh(), Refreshed::replaced);
  EXPECT_EQ(best(reader), 1049);

  fs::create_directory_symlink(path(), path("link"));
  Index follower = Index::open(path("link"));
  fs::remove(path("link"));
  fs::create_directory_symlink(path("old"), path("link"));
  EXPECT_EQ(follower.refresh(), Refreshed::replaced);
  EXPECT_EQ(best(follower), 49);
}

// A backup is the same index at an older version, from which its history may diverge.
TEST_F(ReplacedDirectory, CountsForAnotherIfItIsAnOlderCopyOfTheSame) {
  build_from(0).save(path());
  fs::copy(path(), path("backup"), fs::copy_options::recursive);
  {
    Index writer = Index::open(path(), {.writable = true});
    insert_one(writer, 100);
  }
  Index reader = Index::open(path());
  fs::rename(path(), path("old"));
  fs::rename(path("backup"), path());
  {
    Index writer = Index::open(path(), {.writable = true});
    insert_one(writer, 300);  // version 2 as well
  }
  EXPECT_EQ(reader.refresh(), Refreshed::replaced);
  EXPECT_EQ(best(reader), 300);
}

void empty(const fs::path& directory) {
  for (const fs::directory_entry& file : fs::directory_iterator(directory)) fs::remove(file);
}

// Older files of the same index are restored into the same directory: as new files of the same names, or as other bytes
// of the same files. Later batches diverge from those that the reader has seen.
TEST_F(ReplacedDirectory, IsSeenThoughOnlyItsFilesWerePutBack) {
  constexpr auto kOver = fs::copy_options::overwrite_existing | fs::copy_options::recursive;
  for (const bool in_place : {false, true})
    for (const int num_written : {0, 1, 2, 3, 6}) {
      SCOPED_TRACE(std::to_string(num_written) + (in_place ? " after, in place" : " after"));
      for (const char* name : {"index", "backup"}) fs::remove_all(path(name));
      build_from(0).save(path());
      fs::copy(path(), path("backup"));
      {
        Index writer = Index::open(path(), {.writable = true});
        for (int i = 0; i < 2; ++i) insert_one(writer, 100 + i);
      }
      Index reader = Index::open(path());
      if (!in_place) empty(path());
      fs::copy(path("backup"), path(), kOver);
      {
        Index writer = Index::open(path(), {.writable = true});
        for (int i = 0; i < num_written; ++i) insert_one(writer, 300 + i);
      }
      EXPECT_EQ(reader.refresh(), Refreshed::replaced);
      EXPECT_EQ(best(reader), num_written == 0 ? 49 : 299 + num_written);
      Index writer = Index::open(path(), {.writable = true});
      insert_one(writer, 1000);
      EXPECT_EQ(reader.refresh(), Refreshed::advanced);
      EXPECT_EQ(best(reader), 1000);
    }
}

TEST_F(ReplacedDirectory, IsNotLookedForAfterClose) {
  build_from(0).save(path());
  Index reader = Index::open(path());
  reader.close();
  EXPECT_THROW(reader.refresh(), InvalidArgument);
  EXPECT_EQ(best(reader), 49);
}

TEST_F(ReplacedDirectory, IsRefusedIfTheAttributesAreOthers) {
  build_from(0).save(path());
  Index reader = Index::open(path());
  build_from(1000, 50, "x").save(path(), {.overwrite = true});
  for (int i = 0; i < 2; ++i) EXPECT_THROW(reader.refresh(), InvalidArgument);
  EXPECT_EQ(best(reader), 49) << "it goes on with what was there";
  build_from(2000).save(path(), {.overwrite = true});
  EXPECT_EQ(reader.refresh(), Refreshed::replaced);
  EXPECT_EQ(best(reader), 2049);
}

// The lists of `ta` hold rows of the version that they were built for.
TEST_F(ReplacedDirectory, DoesNotLeaveTheListsOfTheOldIndexToTheNewOne) {
  build_from(0, 5000).save(path());
  Index reader = Index::open(path());
  EXPECT_EQ(best(reader, Engine::ta), 4999);
  build_from(1000, 20).save(path(), {.overwrite = true});
  EXPECT_EQ(reader.refresh(), Refreshed::replaced);
  EXPECT_EQ(best(reader, Engine::ta), 1019);
}

}  // namespace
}  // namespace culmen::test
