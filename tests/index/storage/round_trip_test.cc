#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
      shape.row_order = shape.seed % 4 == 0 ? RowOrder::sum : RowOrder::largest;
      shape.partitions = static_cast<int>(shape.seed % 7);
      shape.leaf_rows = shape.seed % 11 == 0 ? 48 : 16;
      const auto snapshot = make_snapshot(shape);
      EXPECT_EQ(difference(*after_round_trip(*snapshot), *snapshot), "") << rows << " rows, " << attributes;
    }
  }
}

TEST(RoundTrip, KeepsWideSnapshots) {
  for (const int attributes : {64, 65, 127, 129, 300, kMaxAttributes})
    for (const Partitioning partitioning : {Partitioning::kd, Partitioning::angle}) {
      const auto snapshot = make_snapshot({.rows = 400,
                                           .attributes = attributes,
                                           .float64 = attributes % 2 == 0,
                                           .partitioning = partitioning,
                                           .partitions = 40,
                                           .fields = 2,
                                           .gaps = attributes == 129});
      EXPECT_EQ(difference(*after_round_trip(*snapshot), *snapshot), "") << attributes;
    }
}

TEST(RoundTrip, KeepsGapsAndFieldsOfAnyShape) {
  for (std::size_t rows : {0, 1, 15, 17, 500, 1500})
    for (const int fields : {0, 1, 3, 8, 17})
      for (const bool gaps : {false, true}) {
        const auto snapshot = make_snapshot({.rows = rows,
                                             .attributes = fields % 4 + 1,
                                             .float64 = fields % 2 == 0,
                                             .labels = rows % 2 == 0,
                                             .fields = fields,
                                             .gaps = gaps});
        EXPECT_EQ(difference(*after_round_trip(*snapshot), *snapshot), "") << rows << " rows, " << fields;
      }
}

// Files hold texts of many common words in fewer bytes, and the same texts always in the same.
TEST(RoundTrip, KeepsLongTexts) {
  const std::vector<double> values(500, 1);
  Labels labels;
  Texts notes;
  for (std::size_t row = 0; row < values.size(); ++row) {
    const std::string number = std::to_string(row * 7919 % values.size());
    labels.append(row % 9 == 0 ? "" : "The Grand Hotel at the Lake, number " + number);
    notes.texts.append("a note, which says little about the row " + number);
    notes.validity.resize(row / 8 + 1);
    if (row % 5 > 0) notes.validity[row / 8] |= static_cast<std::uint8_t>(1U << row % 8);
  }
  TableView table{values.size(), {{"a"}}, {values}, {}, labels.view()};
  table.fields = {{"note", FieldRole::stored, {ColumnType::text}}};
  table.field_views = {notes.view()};
  const auto snapshot = bulk_load(table, {.leaf_rows = 48});
  MemoryFileSystem system;
  save(*snapshot, system, "index", false);
  const std::shared_ptr<Snapshot> after = load(system, "index");
  EXPECT_EQ(difference(*after, *snapshot), "");
  const std::map<std::string, Bytes> files = system.files("index");
  EXPECT_LT(files.at("SNAP-1-labels").size(), labels.bytes.size() / 2);
  EXPECT_LT(files.at("SNAP-1-texts").size(), notes.texts.bytes.size() / 2);
  MemoryFileSystem again;
  save(*after, again, "index", false);
  EXPECT_EQ(again.files("index").at("SNAP-1-labels").size(), files.at("SNAP-1-labels").size());
  EXPECT_EQ(again.files("index").at("SNAP-1-texts").size(), files.at("SNAP-1-texts").size());
}

TEST(RoundTrip, KeepsAnAttributeWithoutValues) {
  const auto empty_column = [](TableView table) {
    static const std::vector<double> missing(100, std::numeric_limits<double>::quiet_NaN());
    table.columns[1] = missing;
    return bulk_load(table, {.leaf_rows = 16});
  };
  std::vector<double> values(100);
  for (std::size_t row = 0; row < values.size(); ++row) values[row] = static_cast<double>(row);
  TableView table{100, {{"a"}, {"b"}}, {values, values}, {}, {}};
  table.attributes[0].stand_in = StandIn::refuse;
  table.attributes[1].stand_in = StandIn::number;
  table.attributes[1].number = -7.5;
  table.attributes[1].format = {ColumnType::timestamp, TimeUnit::second, "UTC"};
  table.id_name = "nr";
  table.label_name = "who";
  const auto snapshot = empty_column(table);
  EXPECT_EQ(snapshot->stand_ins[1], -7.5);
  EXPECT_EQ(difference(*after_round_trip(*snapshot), *snapshot), "");
}

// Beyond one frame: the ends of the texts, then the texts, are cut in the middle.
TEST(RoundTrip, KeepsALargeDictionaryWithAdditions) {
  const auto snapshot = make_snapshot({.rows = 40, .fields = 4});
  std::vector<std::string> texts;
  for (int i = 0; i < 200'000; ++i) texts.push_back("another text " + std::to_string(i * 7919 % 200'000));
  texts.push_back("");
  texts.push_back(std::string(3 << 20, 'x'));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  auto& dictionary = snapshot->dictionaries[0];
  dictionary = std::make_shared<const Dictionary>(dictionary->with(views));
  const auto after = after_round_trip(*snapshot);
  EXPECT_EQ(difference(*after, *snapshot), "");
  EXPECT_EQ(after->dictionaries[0]->find("another text 17"), dictionary->find("another text 17"));
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

TEST(RoundTrip, KeepsClusters) {
  for (const char* column : {"a1", "brand0", "stock1", "size6"})
    for (const int rows : {0, 700}) {
      const auto snapshot = make_snapshot({.rows = static_cast<std::size_t>(rows),
                                           .partitioning = Partitioning::kd,
                                           .partitions = 20,
                                           .fields = 8,
                                           .gaps = true,
                                           .cluster = column});
      ASSERT_EQ(snapshot->cluster_name(), column);
      ASSERT_EQ(snapshot->partitioner->num_partitions() > 5, rows > 0);
      const auto after = after_round_trip(*snapshot);
      EXPECT_EQ(difference(*after, *snapshot), "") << column;
      EXPECT_EQ(after->cluster_name(), column);
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
  EXPECT_EQ(system.files("index").size(), 8u)
      << "CURRENT, LOCK, manifest, leaves, nodes, partitions, ids, log";
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
  EXPECT_EQ(system.files("index").size(), 9u);
}

TEST(Save, GoesAheadOverLeftoversWithoutAnIndex) {
  MemoryFileSystem system;
  system.put(
      "index",
      {{"LOCK", {}}, {"SNAP-3-leaves", Bytes(10)}, {"MANIFEST-3", Bytes(1)}, {"CURRENT-new", Bytes(1)}});
  const auto snapshot = make_snapshot({});
  save(*snapshot, system, "index", false);
  EXPECT_EQ(difference(*load(system, "index"), *snapshot), "");
  EXPECT_EQ(system.files("index").size(), 9u);
}

}  // namespace
}  // namespace culmen::storage
