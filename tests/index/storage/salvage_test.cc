// Whatever is damaged, repair saves only correct rows in a valid index, reports what it dropped, and does not change
// the damaged index.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "culmen/error.h"
#include "index/storage/store.h"
#include "index/verify.h"
#include "index/write/live_index.h"
#include "index/write/repair.h"
#include "tests/cases.h"
#include "tests/index/storage/leaf_rows_file.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

using Rows = std::map<std::int64_t, std::pair<std::vector<double>, std::string>>;

constexpr std::uint64_t kSnapshotRows = 530;
constexpr std::uint64_t kBatches = 3;

Rows rows_of(const Snapshot& s) {
  Rows rows;
  for (const std::uint32_t leaf : s.order().leaves)
    for (std::uint64_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
      const std::uint64_t row = leaf * static_cast<std::uint64_t>(s.leaf_rows) + r;
      auto& [values, label] = rows[s.id(row)];
      for (int i = 0; i < s.num_attributes(); ++i) values.push_back(s.value(row, i));
      if (s.has_labels) label = s.label(row);
    }
  return rows;
}

const Quantiles kQuantiles = {{1, 2, 3}, {-5, 0.1}};

// A snapshot, and a log of an insert, an erase and an upsert.
Files make_index() {
  MemoryFileSystem system;
  const auto snapshot = make_snapshot({.rows = kSnapshotRows, .attributes = 2, .partitions = 1});
  snapshot->quantiles = std::make_shared<const Quantiles>(kQuantiles);
  save(*snapshot, system, "index", false);
  LiveIndex index(system, "index", {.writable = true, .num_threads = 1});
  const std::vector<std::int64_t> ids = {100000, 100001, 100002}, erased = {-50, -43, 100000, 6};
  const std::vector<double> values = {1, 2.5, 999};
  const std::vector<char> text = {'x', 'y', 'z'};
  const std::vector<std::uint64_t> offsets = {0, 1, 1, 3};
  const std::vector<Attribute> attributes = {{"a0"}, {"a1", Preference::low}};
  TableView table{3, attributes, {values, values}, ids, {text, offsets}};
  index.write(WriteBatch().insert(table), {});
  index.write(WriteBatch().erase(erased), {});
  const std::vector<std::int64_t> replaced = {-36, -29, 100002};
  table.ids = replaced;
  index.write(WriteBatch().upsert(table), {});
  index.close();
  return system.files("index");
}

class SalvageTest : public testing::Test {
 protected:
  SalvageTest() : files_(make_index()), whole_(rows_in(files_)) {}

  static Rows rows_in(const Files& files) {
    MemoryFileSystem system;
    system.put("index", files);
    return rows_of(*LiveIndex(system, "index", {}).published()->get());
  }

  std::string name_of(const std::string& part) const {
    for (const auto& [name, bytes] : files_)
      if (name.find(part) != std::string::npos) return name;
    return part;
  }
  Files with_flip(const std::string& part, std::size_t at) const {
    Files files = files_;
    files.at(name_of(part)).at(at) ^= std::byte{1};
    return files;
  }

  // Repairs, and checks the invariants of every repair.
  void repair_files(const Files& files) {
    MemoryFileSystem system;
    system.put("index", files);
    report_ = repair(system, "index", "mended");
    EXPECT_EQ(system.files("index"), files);
    LiveIndex mended(system, "mended", {});
    const auto snapshot = mended.published()->get();
    EXPECT_EQ(verify_snapshot(*snapshot, true), std::vector<std::string>());
    EXPECT_EQ(snapshot->num_rows, report_.rows_kept);
    EXPECT_EQ(snapshot->attributes[1].preference, Preference::low);
    rows_ = rows_of(*snapshot);
    quantiles_ = snapshot->quantiles;
    EXPECT_EQ(rows_.size(), report_.rows_kept);
  }
  void expect_report(std::uint64_t lost, std::uint64_t batches, std::size_t lines) {
    EXPECT_EQ(report_.rows_lost, lost);
    EXPECT_EQ(report_.batches_applied, batches);
    EXPECT_EQ(report_.dropped.size(), lines) << testing::PrintToString(report_.dropped);
  }
  void expect_subset() {
    for (const auto& [id, row] : rows_) {
      const auto found = whole_.find(id);
      ASSERT_NE(found, whole_.end()) << id;
      EXPECT_EQ(row, found->second) << id;
    }
    EXPECT_GE(rows_.size() + report_.rows_lost, whole_.size());
  }

  const Files files_;
  const Rows whole_;
  RepairReport report_;
  Rows rows_;
  std::shared_ptr<const Quantiles> quantiles_;
};

TEST_F(SalvageTest, CopiesASoundIndexWhole) {
  repair_files(files_);
  expect_report(0, kBatches, 0);
  EXPECT_EQ(rows_, whole_);
}

TEST_F(SalvageTest, KeepsTheQuantilesOfTheBuild) {
  repair_files(with_flip("leaves", 4096));
  EXPECT_GT(report_.rows_lost, 0u);
  ASSERT_NE(quantiles_, nullptr);
  EXPECT_EQ(*quantiles_, kQuantiles);
}

// No digest says whether they are as they were.
TEST_F(SalvageTest, LeavesOutQuantilesThatNothingVouchesFor) {
  Files files = files_;
  std::vector<std::byte>& manifest = files.at(name_of("MANIFEST"));
  constexpr std::string_view kMember = "\"quantiles\": \"";
  const auto at = std::search(manifest.begin(), manifest.end(), kMember.begin(), kMember.end(),
                              [](std::byte a, char b) { return a == static_cast<std::byte>(b); });
  ASSERT_NE(at, manifest.end());
  *(at + static_cast<std::ptrdiff_t>(kMember.size())) = std::byte{'9'};  // more than the next
  repair_files(files);
  EXPECT_EQ(rows_, whole_);
  EXPECT_EQ(quantiles_, nullptr);
  files = files_;
  files.erase("CURRENT");
  repair_files(files);
  EXPECT_EQ(rows_, whole_);
  EXPECT_EQ(quantiles_, nullptr);
}

// Every checksum is right and the index opens, but the bounds of the sum of both attributes are too low.
TEST_F(SalvageTest, MakesAnewWhatOpensButIsNotRight) {
  const auto snapshot = make_snapshot({.rows = kSnapshotRows, .attributes = 2, .partitions = 1});
  constexpr std::size_t kBothAttributes = 2;  // row of bounds
  for (const std::uint32_t slot : snapshot->order().nodes)
    snapshot->arena->mutable_node(slot).bounds()[kBothAttributes] = {};
  ASSERT_NE(verify_snapshot(*snapshot, true), std::vector<std::string>());
  MemoryFileSystem system;
  save(*snapshot, system, "index", false);
  repair_files(system.files("index"));
  expect_report(0, 0, 1);
  EXPECT_EQ(rows_.size(), kSnapshotRows);
}

TEST_F(SalvageTest, SaysThatATornEndWasLeftOut) {
  Files files = files_;
  files.at(name_of("WAL")).resize(files.at(name_of("WAL")).size() + 700, std::byte{7});
  repair_files(files);
  expect_report(0, kBatches, 1);
  EXPECT_EQ(rows_, whole_);
}

TEST_F(SalvageTest, LosesTheRowsOfADamagedLeafOnly) {
  const Bytes& leaves = files_.at(name_of("leaves"));
  const std::vector<std::size_t> starts = frame_starts(leaves);
  const std::size_t num_leaves =
      starts.size() - 3;  // without the header of the file, its directory and its end
  std::uint64_t lost = 0;
  for (std::size_t leaf = 0; leaf < num_leaves; ++leaf) {
    const std::size_t at = starts[leaf + 1];
    repair_files(with_flip("leaves", at + sizeof(FrameHeader) + 50));
    EXPECT_NE(report_.dropped.at(0).find("leaves, byte " + std::to_string(at) + ":"), std::string::npos)
        << report_.dropped[0];
    EXPECT_GT(report_.rows_lost, 0u);
    expect_report(report_.rows_lost, kBatches, 1);
    expect_subset();
    for (const std::int64_t id : {-36, -29, 100001, 100002}) EXPECT_TRUE(rows_.contains(id)) << id;
    lost += report_.rows_lost;
  }
  EXPECT_EQ(lost, kSnapshotRows);
}

// A frame's header says where the next frame is.
TEST_F(SalvageTest, LosesTheRowsOfOneLeafOnlyWhateverItsHeaderSays) {
  const std::size_t at = frame_starts(files_.at(name_of("leaves")))[3];
  repair_files(with_flip("leaves", at + sizeof(FrameHeader) + 50));
  const std::uint64_t lost = report_.rows_lost;
  for (std::size_t byte = 0; byte < sizeof(FrameHeader); ++byte) {
    repair_files(with_flip("leaves", at + byte));
    EXPECT_NE(report_.dropped.at(0).find("leaves, byte " + std::to_string(at) + ":"), std::string::npos)
        << report_.dropped[0];
    expect_report(lost, kBatches, 1);
    expect_subset();
  }
}

TEST_F(SalvageTest, LosesNothingWithoutTheDirectoryOfTheLeavesFile) {
  const std::vector<std::size_t> starts = frame_starts(files_.at(name_of("leaves")));
  for (const std::size_t at : {starts[starts.size() - 2] + 3, starts.back() - 70}) {
    repair_files(with_flip("leaves", at));
    expect_report(0, kBatches, 1);
    EXPECT_EQ(rows_, whole_);
  }
}

TEST_F(SalvageTest, KeepsTheRowsInFrontOfTheEndOfAShortFile) {
  Files files = files_;
  Bytes& leaves = files.at(name_of("leaves"));
  leaves.resize(leaves.size() / 2);
  repair_files(files);
  expect_report(report_.rows_lost, kBatches, 1);
  EXPECT_GT(report_.rows_lost, kSnapshotRows / 3);
  EXPECT_LT(report_.rows_lost, kSnapshotRows * 2 / 3);
  expect_subset();
}

TEST_F(SalvageTest, KeepsTheRowsOfTheLogWithoutTheLeaves) {
  Files files = files_;
  files.erase(name_of("leaves"));
  repair_files(files);
  expect_report(kSnapshotRows, kBatches, 1);
  expect_subset();
  EXPECT_EQ(rows_.size(), 4u);
}

TEST_F(SalvageTest, KeepsRowsWithoutTheirDamagedLabels) {
  repair_files(with_flip("labels", kFirstFrameOffset + sizeof(FrameHeader) + 3));
  expect_report(0, kBatches, 1);
  std::size_t without = 0;
  ASSERT_EQ(rows_.size(), whole_.size());
  for (const auto& [id, row] : rows_) {
    EXPECT_EQ(row.first, whole_.at(id).first);
    if (row.second == whole_.at(id).second) continue;
    EXPECT_EQ(row.second, "");
    ++without;
  }
  EXPECT_GT(without, 0u);
  EXPECT_LE(without, 16u);
}

TEST_F(SalvageTest, MakesTheRestAnew) {
  for (const char* part : {"nodes", "partitions", "CURRENT"}) {
    for (const std::size_t at : {std::size_t{20}, files_.at(name_of(part)).size() / 2}) {
      repair_files(with_flip(part, at));
      expect_report(0, kBatches, 1);
      EXPECT_NE(report_.dropped.at(0).find(part), std::string::npos);
      EXPECT_EQ(rows_, whole_);
    }
    Files files = files_;
    files.erase(name_of(part));
    repair_files(files);
    expect_report(0, kBatches, 1);
    EXPECT_EQ(rows_, whole_);
  }
}

TEST_F(SalvageTest, UsesAManifestThatStillReads) {
  const Bytes& manifest = files_.at(name_of("MANIFEST"));
  const std::string text(reinterpret_cast<const char*>(manifest.data()), manifest.size());
  repair_files(with_flip("MANIFEST", text.find("\"a0\"") + 1));
  expect_report(0, kBatches, 1);
  EXPECT_EQ(rows_, whole_);
}

TEST_F(SalvageTest, SavesNothingWithoutAManifest) {
  Files missing = files_;
  missing.erase(name_of("MANIFEST"));
  for (const Files& files : {with_flip("MANIFEST", 0), missing}) {
    MemoryFileSystem system;
    system.put("index", files);
    EXPECT_THROW(repair(system, "index", "mended"), FormatError);
    EXPECT_EQ(system.files("index"), files);
    EXPECT_FALSE(system.directories.contains("mended"));
  }
}

TEST_F(SalvageTest, AppliesTheLogUpToTheDamage) {
  ASSERT_EQ(files_.at(name_of("WAL")).size(), (1 + kBatches) * kSectorBytes);
  for (std::uint64_t sector = 0; sector <= kBatches; ++sector) {
    const std::uint64_t batches = sector == 0 ? 0 : sector - 1;
    repair_files(with_flip("WAL", sector * kSectorBytes + 40));
    expect_report(0, batches, 1);
    Files cut = files_;
    cut.at(name_of("WAL")).resize(sector * kSectorBytes + 40);
    repair_files(cut);
    expect_report(0, batches, 1);
    EXPECT_EQ(rows_.size(), kSnapshotRows + (batches >= 1 ? 3 : 0) - (batches >= 2 ? 4 : 0));
  }
  Files files = files_;
  files.erase(name_of("WAL"));
  repair_files(files);
  expect_report(0, 0, 1);
}

// The lost batches are counted, and what the whole ones would have changed.
TEST_F(SalvageTest, SaysHowManyBatchesAreLost) {
  const auto line_of = [&](const Files& files, std::uint64_t lost) {
    repair_files(files);
    EXPECT_EQ(report_.batches_applied, kBatches - lost);
    EXPECT_EQ(report_.batches_lost, lost);
    EXPECT_EQ(report_.dropped.size(), 1u);
    return report_.dropped.empty() ? std::string() : report_.dropped[0];
  };
  const auto expect_end = [](const std::string& line, const std::string& end) {
    EXPECT_TRUE(line.ends_with(end)) << line;
  };
  const std::string all_whole = " (3 whole behind the damage: 6 rows added, 7 removed)";
  const std::string two_whole = " (2 whole behind the damage: 3 rows added, 7 removed)";
  const std::string three = "; at least 3 batches are lost, of versions 2 to 4";
  expect_end(line_of(with_flip("WAL", 40), 3), three + all_whole);
  expect_end(line_of(with_flip("WAL", kSectorBytes + 1), 3), three + two_whole);
  expect_end(line_of(with_flip("WAL", 2 * kSectorBytes + 100), 2),
             "; at least 2 batches are lost, of versions 3 to 4 (1 whole behind the damage: 3 rows added, 3 "
             "removed)");
  expect_end(line_of(with_flip("WAL", 3 * kSectorBytes + 100), 1),
             "; at least the batch of version 4 is lost");
  Files cut = files_;
  cut.at(name_of("WAL")).resize(2 * kSectorBytes);
  repair_files(cut);
  EXPECT_EQ(report_.batches_applied, 1u);
  EXPECT_EQ(report_.batches_lost, 1u);  // CURRENT says that there was more, but not how many batches
}

// Durability os: nothing in the log says that a batch was durable, but a later one says that it was reported as done.
TEST_F(SalvageTest, CountsTheBatchesOfAKilledProcessThatDidNotSync) {
  MemoryFileSystem system;
  save(*make_snapshot({.rows = kSnapshotRows, .attributes = 2}), system, "index", false);
  const std::vector<Attribute> attributes = {{"a0"}, {"a1", Preference::low}};
  LiveIndex index(system, "index", {.writable = true, .durability = Durability::os, .num_threads = 1});
  for (std::int64_t id = 100000; id < 100004; ++id) {
    const std::vector<double> value = {1};
    const std::vector<std::int64_t> ids = {id};
    index.write(WriteBatch().insert(TableView{1, attributes, {value, value}, ids, {}}), {});
  }
  const auto with_flip_in_batch = [&](std::size_t batch) {
    Files files = system.files("index");
    files.at("WAL-1").at((1 + batch) * kSectorBytes + 100) ^= std::byte{1};
    return files;
  };
  for (std::size_t batch = 0; batch < 3; ++batch) {
    const Files files = with_flip_in_batch(batch);
    MemoryFileSystem damaged;
    damaged.put("index", files);
    for (const bool writable : {false, true})
      EXPECT_THROW(LiveIndex(damaged, "index", {.writable = writable}), FormatError) << batch;
    EXPECT_EQ(damaged.files("index").at("WAL-1"), files.at("WAL-1"));
    repair_files(files);
    EXPECT_EQ(report_.batches_applied, batch);
    EXPECT_EQ(report_.batches_lost, 4 - batch);
    ASSERT_EQ(report_.dropped.size(), 1u);
    EXPECT_NE(report_.dropped[0].find("reported as done, with durability os or batch"), std::string::npos)
        << report_.dropped[0];
  }
  repair_files(with_flip_in_batch(3));
  EXPECT_EQ(report_.batches_applied, 3u);
  EXPECT_EQ(report_.batches_lost, 0u);
  ASSERT_EQ(report_.dropped.size(), 1u);
  EXPECT_NE(report_.dropped[0].find("512 bytes at its end are no whole batch"), std::string::npos)
      << report_.dropped[0];
}

// The chain of logs goes on behind one that is damaged.
TEST_F(SalvageTest, CountsTheBatchesOfLaterLogs) {
  MemoryFileSystem system;
  system.put("index", files_);
  const auto store = Store::open(system, "index", true);
  store->take_snapshot();
  std::vector<Bytes> bodies;
  store->replay(
      [&](std::uint64_t, std::span<const std::byte> body) { bodies.emplace_back(body.begin(), body.end()); });
  store->begin_checkpoint();
  store->append(std::vector<LogRecord>{{5, bodies[0]}, {6, bodies[1]}});
  store->close();
  const Files whole = system.files("index");
  Files files = whole;
  files.at("WAL-1").at(2 * kSectorBytes + 100) ^= std::byte{1};
  repair_files(files);
  EXPECT_EQ(report_.batches_applied, 1u);
  EXPECT_EQ(report_.batches_lost, 4u);
  files = whole;
  files.erase("WAL-1");
  repair_files(files);
  EXPECT_EQ(report_.batches_applied, 0u);
  EXPECT_EQ(report_.batches_lost, 5u);
}

TEST_F(SalvageTest, FollowsSealedLogs) {
  MemoryFileSystem system;
  system.put("index", files_);
  const auto store = Store::open(system, "index", true);
  store->take_snapshot();
  store->replay([](std::uint64_t, std::span<const std::byte>) {});
  store->begin_checkpoint();
  store->close();
  Files files = system.files("index");
  files.at(name_of("nodes")).at(200) ^= std::byte{1};
  repair_files(files);
  expect_report(0, kBatches, 1);
  EXPECT_EQ(rows_, whole_);
}

TEST_F(SalvageTest, LeavesOutRowsThatCannotBe) {
  const auto snapshot = make_snapshot({.rows = 100, .attributes = 2});
  snapshot->arena->ids(1)[0] = snapshot->arena->ids(0)[0];
  reinterpret_cast<float*>(snapshot->arena->values(2))[0] = std::numeric_limits<float>::quiet_NaN();
  MemoryFileSystem system;
  save(*snapshot, system, "index", false);
  repair_files(system.files("index"));
  EXPECT_EQ(report_.rows_kept, 98u);
  expect_report(2, 0, 2);
}

TEST_F(SalvageTest, WhateverByteIsDamagedWhatIsSavedIsSound) {
  int num_saved = 0;
  for (const auto& [name, bytes] : files_) {
    for (std::size_t at = 0; at < bytes.size(); at += 31 * test::step_of_states(5)) {
      SCOPED_TRACE(name + " byte " + std::to_string(at));
      Files files = files_;
      files.at(name).at(at) ^= static_cast<std::byte>(1 << at % 8);
      try {
        repair_files(files);
        ++num_saved;
      } catch (const FormatError&) {
        EXPECT_TRUE(name.starts_with("MANIFEST"));
      }
    }
  }
  EXPECT_GT(num_saved, test::kSanitized ? 20 : 100);
}

TEST_F(SalvageTest, RefusesADirectoryThatIsNotEmpty) {
  Files files = files_;
  files.erase("CURRENT");
  MemoryFileSystem system;
  system.put("index", files);
  system.put("other", {{"file", {}}});
  for (const char* to : {"index", "other"}) EXPECT_THROW(repair(system, "index", to), InvalidArgument);
  EXPECT_EQ(system.files("index"), files);
  system.put("empty", {});
  EXPECT_EQ(repair(system, "index", "empty").rows_kept, whole_.size());
}

}  // namespace
}  // namespace culmen::storage
