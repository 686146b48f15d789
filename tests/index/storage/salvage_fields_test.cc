// Repair keeps fields and gaps where they can be read, loses no row with them, and never invents a value.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "index/field_key.h"
#include "index/storage/store.h"
#include "index/verify.h"
#include "index/write/live_index.h"
#include "index/write/repair.h"
#include "tests/cases.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

constexpr Shape kSavedShape{.rows = 530, .attributes = 2, .partitions = 1, .fields = 8, .gaps = true};
constexpr std::int64_t kInserted = 100'000, kReplaced = -36;
const char* const kMissing = "-";

constexpr std::size_t kNote = 4;  // the column of stored texts

// Attributes, then fields, as text.
using Cells = std::vector<std::string>;
using CellsById = std::map<std::int64_t, Cells>;

std::string text_of(const Snapshot& s, std::uint32_t leaf, std::size_t row, std::size_t field) {
  const LeafFields fields = s.leaf_fields(leaf);
  if (fields.misses_field(field, row)) return kMissing;
  if (is_stored_text(s.fields[field])) return std::string(s.leaf_texts(leaf).text(field, row));
  const std::int64_t key = fields.key(field, row);
  if (!has_dictionary(s.fields[field])) return std::to_string(key);
  return std::string((*s.dictionaries[field])[static_cast<std::uint32_t>(key)]);
}

CellsById rows_with_fields(const Snapshot& s) {
  CellsById rows;
  for (const std::uint32_t leaf : s.order().leaves)
    for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
      const std::uint64_t row = leaf * static_cast<std::uint64_t>(s.leaf_rows) + r;
      Cells& cells = rows[s.id(row)];
      for (int i = 0; i < s.num_attributes(); ++i)
        cells.push_back(s.leaf_fields(leaf).misses_attribute(static_cast<std::size_t>(i), r)
                            ? kMissing
                            : std::to_string(s.value(row, i)));
      for (std::size_t f = 0; f < s.fields.size(); ++f) cells.push_back(text_of(s, leaf, r, f));
    }
  return rows;
}

// A row whose texts no dictionary has, and one that misses all it can.
void write_two_rows(LiveIndex& index) {
  const std::shared_ptr<const Snapshot> s = index.published()->get();
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {missing, 2.5};
  const std::vector<std::int64_t> ids = {kReplaced, kInserted};
  const std::string text = "new text";
  const std::vector<char> bytes(text.begin(), text.end());
  const std::vector<std::uint64_t> offsets = {0, 0, text.size()};
  const std::vector<std::int64_t> numbers = {0, 1};
  const std::uint8_t second_is_there = 2;
  TableView table{2, s->attributes, {values, values}, ids, {bytes, offsets}};
  table.fields = s->fields;
  for (const Field& field : s->fields) {
    ColumnView column(numbers);
    column.validity = {&second_is_there};
    table.field_views.push_back(field.is_text() ? FieldView(TextView{{bytes, offsets}, {&second_is_there}})
                                                : FieldView(column));
  }
  index.write(WriteBatch().upsert(table), {});
}

class SalvageFields : public testing::Test {
 protected:
  SalvageFields() {
    MemoryFileSystem system;
    save(*make_snapshot(kSavedShape), system, "index", false);
    LiveIndex index(system, "index", {.writable = true, .num_threads = 1});
    write_two_rows(index);
    whole_ = rows_with_fields(*index.published()->get());
    index.close();
    files_ = system.files("index");
  }

  Bytes& file(const std::string& kind) { return files_.at("SNAP-1-" + kind); }

  void expect_sound_repair() {
    MemoryFileSystem system;
    system.put("index", files_);
    report_ = repair(system, "index", "mended");
    const LiveIndex mended(system, "mended", {});
    const auto snapshot = mended.published()->get();
    EXPECT_EQ(verify_snapshot(*snapshot, true), std::vector<std::string>());
    EXPECT_EQ(snapshot->fields, make_snapshot(kSavedShape)->fields);
    EXPECT_EQ(snapshot->stand_ins, make_snapshot(kSavedShape)->stand_ins);
    rows_ = rows_with_fields(*snapshot);
  }

  // Cells that are missing now and were not; fails if one has another value.
  std::size_t num_lost(std::size_t column) const {
    std::size_t lost = 0;
    for (const auto& [id, cells] : rows_) {
      const std::string& before = whole_.at(id).at(column);
      if (cells.at(column) == before) continue;
      EXPECT_EQ(cells.at(column), kMissing) << id << ", column " << column;
      ++lost;
    }
    return lost;
  }

  // A line lists every attribute whose values count as missing although they were not.
  void expect_assumed_missing_listed() {
    const auto line = std::ranges::find_if(report_.dropped, [](const std::string& one) {
      return one.find("which values of attributes were missing is lost") != std::string::npos;
    });
    ASSERT_NE(line, report_.dropped.end()) << testing::PrintToString(report_.dropped);
    EXPECT_TRUE(line->starts_with("index/SNAP-1-fields: ")) << *line;
    for (std::size_t column = 0; column < 2; ++column) {
      const std::string name = "\"a" + std::to_string(column) + "\" (";
      EXPECT_TRUE(num_lost(column) == 0 || line->find(name) != std::string::npos) << *line;
    }
  }

  Files files_;
  CellsById whole_, rows_;
  RepairReport report_;
};

TEST_F(SalvageFields, KeepsAllOfASoundIndex) {
  expect_sound_repair();
  EXPECT_EQ(rows_, whole_);
  EXPECT_EQ(rows_.at(kInserted)[2], "new text");
  EXPECT_EQ(rows_.at(kReplaced), Cells(10, kMissing));
}

TEST_F(SalvageFields, KeepsAllWithoutTheNodes) {
  file("nodes").at(300) ^= std::byte{1};
  expect_sound_repair();
  EXPECT_EQ(rows_, whole_);
  EXPECT_EQ(report_.dropped.size(), 1u);
}

TEST_F(SalvageFields, KeepsRowsWithoutTheirDamagedFields) {
  file("fields").at(kFirstFrameOffset + sizeof(FrameHeader) + 70) ^= std::byte{1};
  expect_sound_repair();
  ASSERT_EQ(rows_.size(), whole_.size());
  EXPECT_EQ(report_.rows_lost, 0u);
  ASSERT_EQ(report_.dropped.size(), 2u);
  EXPECT_NE(report_.dropped[0].find("rows without their fields"), std::string::npos) << report_.dropped[0];
  expect_assumed_missing_listed();
  for (std::size_t column = 2; column < 10; ++column) {
    EXPECT_EQ(num_lost(column) > 0, column != kNote) << column;
    EXPECT_LE(num_lost(column), 16u);
  }
  // At most a row whose value is the stand-in.
  EXPECT_LE(num_lost(0) + num_lost(1), 3u);
}

TEST_F(SalvageFields, KeepsRowsWithoutTheFileOfFields) {
  files_.erase("SNAP-1-fields");
  expect_sound_repair();
  ASSERT_EQ(rows_.size(), whole_.size());
  EXPECT_EQ(rows_.at(kInserted), whole_.at(kInserted)) << "from the log";
  EXPECT_GT(num_lost(9), 400u);
  EXPECT_GT(num_lost(0), 0u);
  EXPECT_GT(num_lost(1), 0u);
  expect_assumed_missing_listed();
}

// Whichever file is lost, the report says what is lost with it.
TEST_F(SalvageFields, SaysWhatIsLostWithAFile) {
  const Files whole = files_;
  const std::map<std::string, std::string> lost = {
      {"SNAP-1-fields", "(all rows without their fields: \""},
      {"SNAP-1-dictionaries", "(all rows without their texts: \""},
      {"SNAP-1-labels", "(all rows without their labels)"},
      {"SNAP-1-texts", "(all rows without their texts: \"note2\")"},
      {"SNAP-1-nodes", "SNAP-1-nodes"},
      {"SNAP-1-partitions", "SNAP-1-partitions"},
      {"SNAP-1-ids", "SNAP-1-ids"}};
  for (const auto& [name, said] : lost) {
    SCOPED_TRACE(name);
    files_ = whole;
    ASSERT_EQ(files_.erase(name), 1u);
    expect_sound_repair();
    EXPECT_EQ(rows_.size(), whole_.size());
    ASSERT_EQ(report_.dropped.size(), name == "SNAP-1-fields" ? 2u : 1u);
    EXPECT_NE(report_.dropped[0].find(said), std::string::npos) << report_.dropped[0];
  }
  for (const auto& [name, bytes] : whole) {
    SCOPED_TRACE(name);
    if (lost.contains(name) || name == "LOCK") continue;
    MemoryFileSystem system;
    files_ = whole;
    files_.erase(name);
    system.put("index", files_);
    try {
      EXPECT_FALSE(repair(system, "index", "mended").dropped.empty());
    } catch (const FormatError&) {  // nothing can be saved
    } catch (const NoIndex&) {
    }
  }
}

// Opening ends at the first fault; the list has all.
TEST_F(SalvageFields, ListsEveryDamagedFrame) {
  const auto count = [](const std::vector<std::string>& lines, const std::string& word) {
    return std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(word) != std::string::npos; });
  };
  MemoryFileSystem system;
  system.put("index", files_);
  EXPECT_EQ(damage(system, "index"), std::vector<std::string>());
  // The last frame, or what pads it; of the leaves the first, as a leaf says where its labels, fields and texts are.
  for (const char* kind : {"fields", "labels", "texts", "nodes", "partitions", "dictionaries", "ids"})
    file(kind).at(file(kind).size() - 1) ^= std::byte{1};
  file("leaves").at(kFirstFrameOffset + 100) ^= std::byte{1};
  system.put("index", files_);
  const std::vector<std::string> some = damage(system, "index");
  for (const char* kind :
       {"leaves", "fields", "labels", "texts", "nodes", "partitions", "dictionaries", "ids"})
    EXPECT_EQ(count(some, std::string("SNAP-1-") + kind + ", byte"), 1)
        << kind << testing::PrintToString(some);
  EXPECT_EQ(count(some, "index/SNAP-1-fields: which values of attributes were missing"), 1);
  // Every frame of leaves: ten lines, how many more there are, and a line of the file's directory.
  for (std::size_t at = kFirstFrameOffset; at < file("leaves").size(); at += 64)
    file("leaves").at(at) ^= std::byte{2};
  system.put("index", files_);
  const std::vector<std::string> all = damage(system, "index");
  EXPECT_EQ(count(all, "SNAP-1-leaves, byte"), 11) << testing::PrintToString(all);
  EXPECT_EQ(count(all, "more frames of index/SNAP-1-leaves"), 1) << testing::PrintToString(all);
}

TEST_F(SalvageFields, LosesOnlyTextsWithADamagedDictionary) {
  const auto expect_lost_texts = [this] {
    expect_sound_repair();
    ASSERT_EQ(rows_.size(), whole_.size());
    ASSERT_EQ(report_.dropped.size(), 1u);
    EXPECT_NE(report_.dropped[0].find("SNAP-1-dictionaries"), std::string::npos) << report_.dropped[0];
    EXPECT_EQ(rows_.at(kInserted)[2], "new text");
    for (std::size_t column = 0; column < 10; ++column)
      EXPECT_EQ(num_lost(column) > 0, column == 2) << column;
    EXPECT_GT(num_lost(2), 400u);
  };
  file("dictionaries").at(kFirstFrameOffset + sizeof(FrameHeader) + 5) ^= std::byte{1};
  expect_lost_texts();
  files_.erase("SNAP-1-dictionaries");
  expect_lost_texts();
}

TEST_F(SalvageFields, LosesOnlyTheStoredTextsOfADamagedFrame) {
  file("texts").at(kFirstFrameOffset + sizeof(FrameHeader) + 5) ^= std::byte{1};
  expect_sound_repair();
  ASSERT_EQ(rows_.size(), whole_.size());
  ASSERT_EQ(report_.dropped.size(), 1u);
  EXPECT_NE(report_.dropped[0].find("rows without their texts: \"note2\")"), std::string::npos)
      << report_.dropped[0];
  for (std::size_t column = 0; column < 10; ++column)
    EXPECT_EQ(num_lost(column) > 0, column == kNote) << column;
  EXPECT_LE(num_lost(kNote), 16u);
}

TEST_F(SalvageFields, WhateverByteIsDamagedNothingIsInvented) {
  for (const char* kind : {"fields", "texts", "dictionaries", "leaves"}) {
    const std::size_t size = file(kind).size();
    for (std::size_t at = 0; at < size; at += 397 * test::step_of_states(3)) {
      SCOPED_TRACE(std::string(kind) + " byte " + std::to_string(at));
      file(kind).at(at) ^= std::byte{4};
      expect_sound_repair();
      for (std::size_t column = 0; column < 10; ++column) num_lost(column);
      EXPECT_GE(rows_.size() + report_.rows_lost, whole_.size());
      file(kind).at(at) ^= std::byte{4};
    }
  }
}

}  // namespace
}  // namespace culmen::storage
