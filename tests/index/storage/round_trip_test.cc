#include <gtest/gtest.h>

#include "index/storage/store.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

std::shared_ptr<Snapshot> after_round_trip(const Snapshot& snapshot) {
  MemoryFileSystem system;
  save(snapshot, system, "index", false);
  return load(system, "index");
}

TEST(RoundTrip, KeepsEveryPartOfASnapshotOfAnyShape) {
  for (int attributes = 1; attributes <= 20; ++attributes) {
    for (std::size_t rows : {0, 1, 15, 16, 17, 500, 1500}) {
      Shape shape{rows, attributes};
      shape.seed = rows * 32 + static_cast<std::uint64_t>(attributes);
      shape.float64 = shape.seed % 2 == 0;
      shape.labels = shape.seed % 3 != 0;
      shape.partitioning = shape.seed % 5 == 0  ? Partitioning::random
                           : shape.seed % 5 < 3 ? Partitioning::angle
                                                : Partitioning::kd;
      shape.partitions = static_cast<int>(shape.seed % 7);
      shape.leaf_rows = shape.seed % 11 == 0 ? 48 : 16;
      const auto snapshot = make_snapshot(shape);
      EXPECT_EQ(difference(*after_round_trip(*snapshot), *snapshot), "") << rows << " rows, " << attributes;
    }
  }
}

TEST(RoundTrip, KeepsLateSplits) {
  for (const Partitioning kind : {Partitioning::kd, Partitioning::angle})
    for (const std::uint32_t cuts : {1, 2, 33}) {
      const auto snapshot =
          make_snapshot({.rows = 700, .partitioning = kind, .partitions = 9, .late_splits = cuts});
      const auto after = after_round_trip(*snapshot);
      EXPECT_EQ(difference(*after, *snapshot), "") << cuts;
      EXPECT_EQ(after->partitioner->order(), snapshot->partitioner->order());
    }
}

TEST(RoundTrip, KeepsATreeOfThreeLevels) {
  const auto snapshot = make_snapshot({.rows = 40'000, .attributes = 2, .partitions = 300});
  ASSERT_GE(snapshot->height, 3);
  EXPECT_EQ(difference(*after_round_trip(*snapshot), *snapshot), "");
}

TEST(RoundTrip, KeepsNamesOfAnyUtf8) {
  const auto snapshot = make_snapshot({});
  snapshot->attributes[0].name = "Preis in € \"netto\"\n\\";
  snapshot->attributes[1].name = std::string("nul\0inside", 10);
  EXPECT_EQ(difference(*after_round_trip(*snapshot), *snapshot), "");
}

TEST(RoundTrip, KeepsVersionAndRoundedValues) {
  const auto snapshot = make_snapshot({});
  snapshot->version = 41;
  snapshot->rounded_values = 7;
  EXPECT_EQ(difference(*after_round_trip(*snapshot), *snapshot), "");
}

TEST(Save, RefusesANameThatIsNotUtf8AndLeavesNothing) {
  const auto snapshot = make_snapshot({});
  snapshot->attributes[0].name =
      "Stra\xdf"
      "e";
  MemoryFileSystem system;
  EXPECT_THROW(save(*snapshot, system, "index", false), InvalidArgument);
  EXPECT_TRUE(system.directories.empty());
}

TEST(Save, WritesTheSameBytesForTheSameUuid) {
  const auto snapshot = make_snapshot({.rows = 3000});
  MemoryFileSystem one, two;
  save(*snapshot, one, "index", false);
  save(*snapshot, two, "index", false);
  EXPECT_EQ(one.files("index"), two.files("index"));
}

TEST(Save, ReplacesAnIndexOnlyWhenTold) {
  const auto old_one = make_snapshot({.seed = 1}),
             new_one = make_snapshot({.rows = 200, .labels = false, .seed = 2});
  MemoryFileSystem system;
  save(*old_one, system, "index", false);
  try {
    save(*new_one, system, "index", false);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("index holds an index, and `overwrite` is not set"),
              std::string::npos);
  }
  EXPECT_EQ(difference(*load(system, "index"), *old_one), "");
  save(*new_one, system, "index", true);
  EXPECT_EQ(difference(*load(system, "index"), *new_one), "");
  EXPECT_EQ(system.files("index").size(), 7u) << "CURRENT, LOCK, manifest, leaves, nodes, partitions, log";
}

TEST(Save, RefusesADirectoryOfSomethingElse) {
  const auto snapshot = make_snapshot({});
  for (const char* name : {"thesis.tex", "SNAP-1-leavesX", "MANIFEST-01", "SNAP-0-leaves", "current"}) {
    MemoryFileSystem system;
    system.put("home", {{name, Bytes(3)}});
    EXPECT_THROW(save(*snapshot, system, "home", true), InvalidArgument) << name;
    EXPECT_EQ(system.files("home").size(), 1u);
  }
}

TEST(Save, NeverTouchesForeignFilesBesideAnIndex) {
  const auto snapshot = make_snapshot({});
  MemoryFileSystem system;
  save(*snapshot, system, "index", false);
  auto files = system.files("index");
  files["README"] = Bytes(5, std::byte{'x'});
  files["SNAP-1-leaves.bak"] = Bytes(1);
  system.put("index", files);
  save(*snapshot, system, "index", true);
  EXPECT_EQ(system.files("index").at("README"), Bytes(5, std::byte{'x'}));
  EXPECT_EQ(system.files("index").count("SNAP-1-leaves.bak"), 1u);
}

TEST(Save, RefusesAForeignFileCalledCurrent) {
  MemoryFileSystem system;
  system.put("home", {{"CURRENT", Bytes(100, std::byte{'x'})}});
  EXPECT_THROW(save(*make_snapshot({}), system, "home", true), InvalidArgument);
  EXPECT_EQ(system.files("home").size(), 1u);
}

TEST(Save, ReplacesADamagedIndexWhenTold) {
  const auto snapshot = make_snapshot({});
  MemoryFileSystem system;
  save(*snapshot, system, "index", false);
  auto files = system.files("index");
  files["CURRENT"].back() = std::byte{'?'};
  files["CURRENT-new"] = Bytes(3);
  files["SNAP-6-nodes"] = Bytes(3);
  system.put("index", files);
  EXPECT_THROW(load(system, "index"), FormatError);
  save(*snapshot, system, "index", true);
  EXPECT_EQ(difference(*load(system, "index"), *snapshot), "");
  EXPECT_EQ(system.files("index").size(), 8u);
}

TEST(Save, GoesAheadOverLeftoversWithoutAnIndex) {
  MemoryFileSystem system;
  system.put(
      "index",
      {{"LOCK", {}}, {"SNAP-3-leaves", Bytes(10)}, {"MANIFEST-3", Bytes(1)}, {"CURRENT-new", Bytes(1)}});
  const auto snapshot = make_snapshot({});
  save(*snapshot, system, "index", false);
  EXPECT_EQ(difference(*load(system, "index"), *snapshot), "");
  EXPECT_EQ(system.files("index").size(), 8u);
}

}  // namespace
}  // namespace culmen::storage
