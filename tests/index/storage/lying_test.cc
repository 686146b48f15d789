// Directories with valid checksums whose rows, leaves or nodes violate what writers and engines rely on: refused when
// they are loaded or, where that check would cost too much, when they are written to.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "index/field_key.h"
#include "index/storage/manifest.h"
#include "index/storage/store.h"
#include "index/tree_height.h"
#include "index/verify.h"
#include "index/write/live_index.h"
#include "index/write/repair.h"
#include "index/write/tree_writer.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

constexpr std::size_t kSlots = 16;

// The error of an index that was changed and then published; empty if none is detected.
std::string complaint(const Shape& shape, const std::function<void(Snapshot&)>& change) {
  const std::shared_ptr<Snapshot> snapshot = make_snapshot(shape);
  change(*snapshot);
  MemoryFileSystem system;
  save(*snapshot, system, "index", false);
  try {
    load(system, "index");
    return "";
  } catch (const FormatError& error) {
    return error.what();
  }
}

constexpr Shape kShape{.rows = 700, .attributes = 2, .labels = false, .partitions = 1};

testing::AssertionResult is_refused(const std::string& why, const std::function<void(Snapshot&)>& change) {
  const std::string what = complaint(kShape, change);
  if (what.find(why) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << what << "\" does not say \"" << why << "\"";
}

float* column(Snapshot& s, std::size_t leaf, std::size_t attribute) {
  return reinterpret_cast<float*>(s.arena->values(leaf)) + attribute * kSlots;
}

float& zone_vector(Snapshot& s, std::size_t leaf, Extreme which, std::size_t attribute) {
  return reinterpret_cast<float*>(s.arena->zone_map(leaf))[static_cast<std::size_t>(which) * 2 + attribute];
}

void swap_rows(Snapshot& s, std::size_t leaf, std::size_t a, std::size_t b) {
  for (std::size_t i = 0; i < 2; ++i) std::swap(column(s, leaf, i)[a], column(s, leaf, i)[b]);
  std::swap(s.arena->ids(leaf)[a], s.arena->ids(leaf)[b]);
}

// A row none of whose values is in a zone vector of its leaf.
std::size_t row_inside(Snapshot& s, std::size_t leaf) {
  const auto is_inside = [&](std::size_t row, std::size_t i) {
    const float value = column(s, leaf, i)[row];
    return value > zone_vector(s, leaf, Extreme::minimum, i) &&
           value < zone_vector(s, leaf, Extreme::maximum, i);
  };
  std::size_t row = 0;
  while (!is_inside(row, 0) || !is_inside(row, 1)) ++row;
  return row;
}

void swap_leaves(Snapshot& s, std::size_t a, std::size_t b) {
  std::swap_ranges(s.arena->values(a), s.arena->values(a) + s.arena->shape().leaf_bytes(),
                   s.arena->values(b));
  std::swap_ranges(s.arena->ids(a), s.arena->ids(a) + kSlots, s.arena->ids(b));
  std::swap_ranges(s.arena->zone_map(a),
                   s.arena->zone_map(a) + kZoneVectors * s.arena->shape().zone_vector_bytes(),
                   s.arena->zone_map(b));
  std::swap(s.arena->leaf(a), s.arena->leaf(b));
}

// ---- Everything that writers rely on, and what checks it

enum class Finder { open, writer, verify, deep_verify };

struct Lie {
  std::string rule;  // true of every index that culmen has written
  std::function<void(Snapshot&)> tell;
  std::string words;  // of the error
  Finder finder = Finder::open;
  Shape shape = kShape;
};

constexpr Shape kCutShape{
    .rows = 700, .attributes = 2, .labels = false, .partitioning = Partitioning::kd, .partitions = 9};

// Lowers the bound of the second child by half of its attribute's range.
void move_bound(Snapshot& s, std::uint32_t node, int row, float distance) {
  const MutableNode changed = s.arena->mutable_node(node);
  BoundRow& bounds = changed.bounds()[row];
  bounds.set(1, bounds[1] + distance, changed.header().num_children, s.layout.extreme_of(row));
}

// As if the index had been built with other cuts. The rows stay where they are.
void move_cuts(Snapshot& s) {
  const Partitioner& p = *s.partitioner;
  s.partitioner = std::make_shared<const Partitioner>(Partitioner::restore(
      p.kind(), p.minimum(), p.maximum(), p.splits(), std::vector<double>(p.cuts().size(), 0.75),
      p.own_coordinates(), p.num_partitions()));
}

// All rows stay in the partition that is split.
void add_late_split(Snapshot& s, std::uint32_t attribute, double cut) {
  s.partitioner =
      std::make_shared<const Partitioner>(s.partitioner->with(std::vector<LateSplit>{{0, attribute, cut}}));
}

constexpr Shape kClusteredShape{.rows = 700,
                                .attributes = 2,
                                .labels = false,
                                .partitioning = Partitioning::kd,
                                .partitions = 9,
                                .fields = 2,
                                .gaps = true,
                                .cluster = "stock1"};

// Splits a partition at the largest or the smallest key of one of its leaves. All rows stay.
void split_by_cluster(Snapshot& s, Extreme which) {
  std::size_t leaf = 0;
  while (s.leaf_fields(leaf).zone(1).minimum == s.leaf_fields(leaf).zone(1).maximum ||
         s.leaf_fields(leaf).zone(1).num_missing > 0)
    ++leaf;
  const FieldZone& zone = s.leaf_fields(leaf).zone(1);
  const auto cut = static_cast<double>(which == Extreme::maximum ? zone.maximum : zone.minimum + 1);
  const std::uint32_t column = *s.partitioner->cluster();
  s.partitioner = std::make_shared<const Partitioner>(
      s.partitioner->with(std::vector<LateSplit>{{s.leaf(leaf).partition, column, cut}}));
}

// Repeats an id of leaf 6 in this leaf or a later one, in place of its largest id, so that no smallest id changes.
std::int64_t repeat_id(Snapshot& s, std::size_t leaf) {
  const std::int64_t id = s.arena->ids(6)[2];
  for (;; ++leaf) {
    std::int64_t* const ids = s.arena->ids(leaf);
    std::int64_t* const largest = std::max_element(ids, ids + s.leaf(leaf).num_rows);
    if (s.leaf(leaf).min_id >= id || *largest == id) continue;
    *largest = id;
    return id;
  }
}

std::vector<Lie> lies_about_rows() {
  const std::string rows_ascend = "rows of a leaf ascend in key order, ties by id";
  const std::string leaves_ascend = "so do the leaves of a partition";
  const std::string out_of_order = "the rows are not in key order";
  const auto swap = [](std::size_t leaf, std::size_t a, std::size_t b) {
    return [=](Snapshot& s) { swap_rows(s, leaf, a, b); };
  };
  return {
      {rows_ascend, swap(3, 4, 9), out_of_order},
      {rows_ascend, swap(0, 0, 1), out_of_order},
      {rows_ascend,
       [](Snapshot& s) {
         const std::size_t r = row_inside(s, 2);
         for (std::size_t i = 0; i < 2; ++i) column(s, 2, i)[r] = column(s, 2, i)[r + 1];
         std::int64_t* ids = s.arena->ids(2);
         if (ids[r] < ids[r + 1]) std::swap(ids[r], ids[r + 1]);
       },
       out_of_order},
      {leaves_ascend, [](Snapshot& s) { swap_leaves(s, 1, 2); }, "the leaves are not in key order"},
      {leaves_ascend, [](Snapshot& s) { swap_leaves(s, 0, 40); }, "the leaves are not in key order"},
      {"leaves come in the order of their partitions",
       [](Snapshot& s) { s.arena->leaf(2).partition = s.partitioner->num_partitions() - 1; },
       "a leaf in the wrong partition", Finder::open, kCutShape},
      {"rows are on their partition's side of late splits",
       [](Snapshot& s) { add_late_split(s, 0, s.value(5, 0)); }, "the wrong side of a late split"},
      {"rows are on their partition's side of late splits",
       [](Snapshot& s) { add_late_split(s, 1, s.stats[1].minimum); }, "the wrong side of a late split"},
      {"rows are on their partition's side of late splits",
       [](Snapshot& s) { split_by_cluster(s, Extreme::maximum); }, "the wrong side of a late split",
       Finder::open, kClusteredShape},
      {"rows are on their partition's side of late splits",
       [](Snapshot& s) { split_by_cluster(s, Extreme::minimum); }, "the wrong side of a late split",
       Finder::open, kClusteredShape},
      {"rows are where the cuts of the levels lead", move_cuts, "belongs to another partition",
       Finder::verify, kCutShape},
  };
}

std::vector<Lie> lies_about_ids() {
  return {
      {"a node says those of its children", [](Snapshot& s) { ++s.arena->mutable_node(0).min_ids()[3]; },
       "smallest id"},
      {"a node says those of its children", [](Snapshot& s) { --s.arena->mutable_node(s.root).min_ids()[0]; },
       "smallest id"},
      {"no child of a node has a smaller id than the node says",
       [](Snapshot& s) {
         s.arena->mutable_node(s.root).header().min_id = std::numeric_limits<std::int64_t>::max();
       },
       "smallest id"},
      {"the next id is above all that are there", [](Snapshot& s) { s.next_id -= 7; },
       "not below the next id"},
      {"no id is in two rows of a leaf", [](Snapshot& s) { repeat_id(s, 6); }, "is in two rows",
       Finder::writer},
      {"no id is in two rows", [](Snapshot& s) { repeat_id(s, 7); }, "is in two rows", Finder::writer},
  };
}

std::vector<Lie> lies_about_extremes() {
  return {
      {"the range of an attribute is that of its values", [](Snapshot& s) { s.stats[0].maximum *= 2; },
       "another range"},
      {"the range of an attribute is that of its values", [](Snapshot& s) { s.stats[1].minimum -= 1; },
       "another range"},
      {"all values are multiples of their quantum", [](Snapshot& s) { s.stats[0].quantum = 0; }, "quantum",
       Finder::verify},
      {"sums that are said to be exact are", [](Snapshot& s) { s.stats[0].quantum = -1074; }, "can round"},
      {"sums that are said to be exact are", [](Snapshot& s) { s.units[0].origin = 0x1p-60; }, "can round"},
  };
}

std::vector<Lie> lies_about_bounds() {
  const auto lower = [](bool at_the_root, auto row) {
    return [=](Snapshot& s) { move_bound(s, at_the_root ? s.root : 0, row(s), -0.5f); };
  };
  const auto raise = [](bool at_the_root) {
    return [=](Snapshot& s) { move_bound(s, at_the_root ? s.root : 0, s.layout.minimum_row(1), 0.5f); };
  };
  const auto maximum = [](const Snapshot& s) { return s.layout.maximum_row(1); };
  const auto sum = [](const Snapshot& s) { return s.layout.subset_row(0, 3, Extreme::maximum); };
  const std::string of_one = "bounds of an attribute cover the child", of_sums = "so do those of sums";
  return {
      {of_one, lower(false, maximum), "does not cover an attribute"},
      {of_one, lower(true, maximum), "does not cover an attribute"},
      {of_one, raise(false), "does not cover an attribute"},
      {of_one, raise(true), "does not cover an attribute"},
      {of_sums, lower(true, sum), "does not cover the child", Finder::verify},
      {of_sums, lower(false, sum), "does not cover the child", Finder::deep_verify},
  };
}

constexpr Shape kFieldShape{
    .rows = 700, .attributes = 2, .labels = false, .partitions = 1, .fields = 8, .gaps = true};
// As FieldColumns makes them.
constexpr std::size_t kBrand = 0, kNote = 2, kBoolean = 5, kSize = 6;

AttributeGaps& gaps_of(Snapshot& s, std::size_t leaf, std::size_t number) {
  return const_cast<AttributeGaps&>(s.leaf_fields(leaf).gaps()[number]);
}
std::uint64_t& bitmap_of_gaps(Snapshot& s, std::size_t leaf) {
  return *const_cast<std::uint64_t*>(s.leaf_fields(leaf).missing(gaps_of(s, leaf, 0)));
}
std::uint64_t& bitmap_of_field(Snapshot& s, std::size_t leaf, std::size_t field) {
  return *const_cast<std::uint64_t*>(s.leaf_fields(leaf).missing(s.leaf_fields(leaf).zone(field)));
}
FieldZone& zone_of(Snapshot& s, std::size_t leaf, std::size_t field) {
  return const_cast<FieldZone&>(s.leaf_fields(leaf).zone(field));
}
std::shared_ptr<const Dictionary> dictionary_of(std::initializer_list<std::string_view> texts) {
  return std::make_shared<const Dictionary>(std::span(texts.begin(), texts.size()));
}

std::vector<Lie> lies_about_fields() {
  const std::string gaps = "missing values are the stand-in";
  const std::string wrong_gaps = "missing values are not the attribute's stand-in";
  const std::string bitmaps = "bitmaps are of rows that miss something";
  const std::string wrong_values = "the values of a field are wrong";
  const std::string wrong_texts = "the texts of a field are wrong";
  const auto lie = [](const std::string& rule, const std::string& words,
                      std::function<void(Snapshot&)> tell) {
    return Lie{rule, std::move(tell), words, Finder::open, kFieldShape};
  };
  return {
      lie(gaps, wrong_gaps, [](Snapshot& s) { s.stand_ins[0] = s.stats[0].minimum + 1; }),
      lie(gaps, "refuses them", [](Snapshot& s) { s.attributes[1].stand_in = StandIn::refuse; }),
      lie(gaps, "\"stand_ins\"", [](Snapshot& s) { s.stand_ins.clear(); }),
      lie(gaps, "not a float32", [](Snapshot& s) { s.stand_ins[0] = 0.1; }),
      lie("stand-ins do not count in the range of an attribute", "another range",
          [](Snapshot& s) { s.stats[0].maximum += 1; }),
      lie(bitmaps, "the gaps of an attribute", [](Snapshot& s) { bitmap_of_gaps(s, 3) = 0; }),
      lie(bitmaps, "the gaps of an attribute",
          [](Snapshot& s) {
            std::size_t leaf = 0;  // whose bitmap has room after its rows
            while (s.leaf(leaf).num_rows % 8 == 0 || s.leaf_fields(leaf).gaps().empty()) ++leaf;
            bitmap_of_gaps(s, leaf) |= std::uint64_t{1} << s.leaf(leaf).num_rows;
          }),
      lie(bitmaps, "the gaps of an attribute",
          [](Snapshot& s) {
            std::size_t leaf = 0;
            while (s.leaf_fields(leaf).gaps().size() < 2) ++leaf;
            gaps_of(s, leaf, 1).attribute = 0;
          }),
      lie(bitmaps, wrong_values, [](Snapshot& s) { bitmap_of_field(s, 3, kNote) = 0; }),
      lie(bitmaps, wrong_values,
          [](Snapshot& s) { bitmap_of_field(s, 3, kNote) = (std::uint64_t{1} << s.leaf(3).num_rows) - 1; }),
      lie("missing texts are empty", wrong_texts,
          [](Snapshot& s) {
            std::size_t row = 0;
            while (s.leaf_texts(3).text(kNote, row).empty()) ++row;
            bitmap_of_field(s, 3, kNote) |= std::uint64_t{1} << row;
          }),
      lie("booleans are 0 or 1", wrong_values,
          [](Snapshot& s) {
            for (FieldZone& zone = zone_of(s, 3, kBoolean); zone.minimum < 2; ++zone.maximum) ++zone.minimum;
          }),
      lie("floating fields are numbers", wrong_values,
          [](Snapshot& s) {
            FieldZone& zone = zone_of(s, 3, kSize);
            const auto infinite = static_cast<std::uint64_t>(key_of_double(HUGE_VAL));
            zone.maximum = static_cast<std::int64_t>(static_cast<std::uint64_t>(zone.maximum) + infinite -
                                                     static_cast<std::uint64_t>(zone.minimum));
            zone.minimum = key_of_double(HUGE_VAL);
          }),
      lie("texts lie within their leaf", wrong_texts,
          [](Snapshot& s) { const_cast<std::uint32_t&>(s.leaf_texts(3).ends(kNote)[0]) = 0x7f00'0000; }),
      lie("codes have texts", wrong_values,
          [](Snapshot& s) {
            s.dictionaries[kBrand] = dictionary_of({"a", "b"});
          }),
      lie("a dictionary has each text once", "a text twice",
          [](Snapshot& s) {
            s.dictionaries[kBrand] = dictionary_of({"a", "b", "c", "d", "b"});
          }),
  };
}

// Batches on a lying index succeed or fail; after those that succeed the index can still be opened.
void expect_that_it_opens_after_changes(MemoryFileSystem& system) {
  const OpenOptions options{.writable = true, .num_threads = 1};
  LiveIndex index(system, "index", options);
  std::vector<double> values(40);
  for (std::size_t r = 0; r < values.size(); ++r) values[r] = static_cast<double>(r * 25) - 300;
  const std::vector<Attribute> attributes = index.published()->get()->attributes;
  for (int batch = 0; batch < 8; ++batch) {
    TableView rows{values.size(), attributes, {}, {}, {}};
    for (std::size_t i = 0; i < attributes.size(); ++i) rows.columns.emplace_back(values);
    index.write(WriteBatch().insert(rows).erase(std::vector<std::int64_t>{batch * 7 - 50}), {});
    if (batch == 5) index.checkpoint();
  }
  index.close();
  EXPECT_NO_THROW(LiveIndex(system, "index", options));
}

std::string complaint_of_verify(MemoryFileSystem& system, bool deep) {
  const std::vector<std::string> faults = verify_snapshot(*load(system, "index"), deep);
  return faults.empty() ? "" : faults.front();
}

// A writer that reads on touch sees a repeated id when it is looked up, others at once.
void look_up_all(const TreeWriter& writer, const Snapshot& s) {
  for (const std::uint32_t leaf : s.order().leaves)
    for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r)
      EXPECT_TRUE(writer.contains(s.leaf_ids(leaf)[r]));
}

std::string complaint_of(Finder finder, MemoryFileSystem& system, Loading loading = Loading::whole) {
  try {
    const std::shared_ptr<Snapshot> snapshot = load(system, "index", loading);
    snapshot->require_all();
    if (finder == Finder::writer) look_up_all(TreeWriter(snapshot), *snapshot);
  } catch (const FormatError& error) {
    return error.what();
  }
  if (finder == Finder::deep_verify) {
    EXPECT_EQ(complaint_of_verify(system, false), "");
  }
  if (finder == Finder::open || finder == Finder::writer) return "";
  return complaint_of_verify(system, finder == Finder::deep_verify);
}

TEST(LyingIndex, IsFoundOutWhateverWritersRelyOn) {
  for (const auto& lies :
       {lies_about_rows, lies_about_ids, lies_about_extremes, lies_about_bounds, lies_about_fields})
    for (const Lie& lie : lies()) {
      SCOPED_TRACE(lie.rule);
      ASSERT_EQ(verify_snapshot(*make_snapshot(lie.shape), true), std::vector<std::string>{});
      const std::shared_ptr<Snapshot> snapshot = make_snapshot(lie.shape);
      lie.tell(*snapshot);
      MemoryFileSystem system;
      save(*snapshot, system, "index", false);
      const std::string complaint = complaint_of(lie.finder, system);
      EXPECT_NE(complaint.find(lie.words), std::string::npos) << complaint;
      const std::string on_touch = complaint_of(lie.finder, system, Loading::on_touch);
      EXPECT_NE(on_touch.find(lie.words), std::string::npos) << on_touch;
      if (lie.finder == Finder::verify || lie.finder == Finder::deep_verify)
        expect_that_it_opens_after_changes(system);
    }
}

TEST(LyingIndex, OfSumsThatStandInsMakeRoundIsRefused) {
  std::vector<double> values(64);
  for (std::size_t row = 0; row < values.size(); ++row) values[row] = static_cast<double>(row);
  values[17] = std::numeric_limits<double>::quiet_NaN();
  TableView table{values.size(), {{"a"}}, {values}, {}, {}};
  table.attributes[0].stand_in = StandIn::number;
  table.attributes[0].number = 0x1p-60;
  const std::shared_ptr<Snapshot> snapshot = bulk_load(table, {});
  EXPECT_FALSE(snapshot->exact_sums);
  snapshot->exact_sums = true;
  EXPECT_EQ(verify_snapshot(*snapshot, false).size(), 1u);
  MemoryFileSystem system;
  save(*snapshot, system, "index", false);
  EXPECT_NE(complaint_of(Finder::open, system).find("can round"), std::string::npos);
}

TEST(LyingIndex, OfNoFurtherIdsIsOpened) {
  EXPECT_EQ(complaint(kShape, [](Snapshot& s) { s.next_id = std::numeric_limits<std::int64_t>::max(); }), "");
}

TEST(LyingIndex, OfRowsOfBoundsThatNoWriterMakesIsRefused) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const auto with_row = [](Extreme extreme, float base, std::uint32_t scale) {
    return complaint(kShape, [&](Snapshot& s) {
      const int row = s.layout.subset_row(0, 3, extreme);  // a sum, which nothing else checks
      BoundRow& changed = s.arena->mutable_node(0).bounds()[row];
      changed = {};
      changed.base = base;
      changed.scale = scale;
    });
  };
  const auto is_named = [](const std::string& complaint) {
    return complaint.find("invalid bounds row") != std::string::npos;
  };
  EXPECT_EQ(with_row(Extreme::maximum, 100, bits(-0.5f)), "");
  EXPECT_EQ(with_row(Extreme::minimum, -100, bits(0.5f) | BoundRow::kLinear), "");
  EXPECT_EQ(with_row(Extreme::maximum, 100, bits(-0.0f) | bits(HUGE_VALF) >> 8), "") << "an infinite gap";
  EXPECT_TRUE(is_named(with_row(Extreme::maximum, 100, bits(0.5f)))) << "the wrong direction";
  EXPECT_TRUE(is_named(with_row(Extreme::minimum, -100, bits(-0.5f))));
  EXPECT_TRUE(is_named(with_row(Extreme::maximum, 100, bits(-1.0f) | bits(0x1p103f) >> 8)))
      << "too large a gap";
  EXPECT_TRUE(is_named(with_row(Extreme::maximum, 100, bits(-1.0f) | BoundRow::kGapBits)))
      << "a gap that is no number";
  EXPECT_TRUE(is_named(with_row(Extreme::maximum, 0x1p25f, bits(-1.0f)))) << "finer than the base";
  EXPECT_TRUE(is_named(with_row(Extreme::maximum, 1 + 0x1p-20f, bits(-1.0f)))) << "no multiple";
  EXPECT_TRUE(is_named(with_row(Extreme::maximum, 0x1p102f, bits(-0.0f)))) << "too large";
  EXPECT_TRUE(is_named(with_row(Extreme::maximum, HUGE_VALF, bits(-0.0f))));
  EXPECT_TRUE(is_named(with_row(Extreme::maximum, -HUGE_VALF, bits(-0.0f))));
  EXPECT_TRUE(is_named(with_row(Extreme::minimum, HUGE_VALF, 0)));
  EXPECT_TRUE(is_named(with_row(Extreme::maximum, HUGE_VALF, bits(-1.0f))));
  EXPECT_TRUE(is_named(with_row(Extreme::maximum, std::numeric_limits<float>::quiet_NaN(), 0)));
}

// The last possible version: no batch and no compaction makes one that could not be read again.
TEST(LyingIndex, OfNoFurtherVersionsTakesNoChange) {
  const std::shared_ptr<Snapshot> snapshot = make_snapshot(kShape);
  snapshot->version = kMaxVersion;
  MemoryFileSystem system;
  save(*snapshot, system, "index", false);
  for (const bool compacts : {false, true}) {
    LiveIndex index(system, "index", {.writable = true, .num_threads = 1});
    if (compacts) {
      EXPECT_THROW(index.compact(), IoError);
    } else {
      EXPECT_THROW(index.write(WriteBatch().erase(std::vector<std::int64_t>{-50}), {}), IoError);
    }
    EXPECT_NO_THROW(index.close());
    EXPECT_EQ(LiveIndex(system, "index", {}).published()->get()->num_rows, kShape.rows);
  }
  snapshot->version = kMaxVersion + 1;
  MemoryFileSystem other;
  save(*snapshot, other, "index", false);
  EXPECT_THROW(load(other, "index"), FormatError);
}

// A count that is only shown to people.
TEST(LyingIndex, OfMoreRoundedValuesThanThereCanBeIsWrittenSoThatItCanBeRead) {
  EXPECT_EQ(
      complaint(kShape, [](Snapshot& s) { s.rounded_values = std::numeric_limits<std::uint64_t>::max(); }),
      "");
}

// Adds levels with a single node above the root.
void raise(Snapshot& s, int num_levels) {
  for (; num_levels > 0; --num_levels) {
    const auto above = static_cast<std::uint32_t>(s.num_nodes++);
    s.arena->grow_nodes(s.num_nodes);
    const NodeAccess<std::byte> node = s.arena->mutable_node(above);
    std::memcpy(node.bytes, s.node(s.root).bytes, s.arena->node_bytes());
    node.header().num_children = 1;
    node.header().level = static_cast<std::uint32_t>(++s.height);
    node.children()[0] = s.root;
    node.min_ids()[0] = s.node(s.root).header().min_id;
    s.root = above;
  }
  s.node_slots = s.num_nodes;
}

TEST(LyingIndex, HigherThanATreeOfItsLeavesIsRefused) {
  for (const int levels : {1, 5, 20})
    EXPECT_TRUE(is_refused("\"levels\"", [&](Snapshot& s) { raise(s, levels); })) << levels;
}

TEST(LyingIndex, OfMoreOrFewerNodesThanHoldItsLeavesIsRefused) {
  const std::shared_ptr<Snapshot> snapshot = make_snapshot(kShape);
  Manifest manifest = describe(*snapshot);
  manifest.snapshot.number = manifest.log.number = 1;
  const std::uint64_t lowest = manifest.level_nodes.front();
  EXPECT_NO_THROW(parse_manifest(to_text(manifest), ""));
  for (const std::uint64_t nodes : {std::uint64_t{1}, manifest.num_leaves + 1}) {
    manifest.level_nodes.front() = nodes;
    EXPECT_THROW(parse_manifest(to_text(manifest), ""), FormatError) << nodes;
  }
  manifest.level_nodes.front() = lowest;
  for (const std::uint64_t rows : {manifest.num_leaves - 1, manifest.num_leaves * kSlots + 1}) {
    manifest.num_rows = rows;
    EXPECT_THROW(parse_manifest(to_text(manifest), ""), FormatError) << rows;
  }
}

TEST(TreeHeight, IsThatOfTheThinnestTreeThatIsMade) {
  EXPECT_EQ(most_levels(0), 0);
  EXPECT_EQ(most_levels(1), kMaxLoadedLevels);
  EXPECT_EQ(most_levels((1u << 21) - 1), 7);
  EXPECT_EQ(most_levels(1u << 21), 8);
  EXPECT_EQ(most_levels(1u << 24), 9);
  EXPECT_EQ(most_levels(0xffffffff), kMaxLevels);
}

TEST(LyingIndex, OfAnIdInTwoRowsIsMendedByRepair) {
  const std::shared_ptr<Snapshot> s = make_snapshot(kShape);
  const std::int64_t id = repeat_id(*s, 7);
  MemoryFileSystem system;
  save(*s, system, "index", false);
  LiveIndex index(system, "index", {.writable = true, .num_threads = 1});
  EXPECT_THROW(index.write(WriteBatch().erase(std::vector<std::int64_t>{id}), {}), FormatError);
  index.close();
  const RepairReport report = repair(system, "index", "mended");
  EXPECT_EQ(report.rows_kept, kShape.rows - 1);
  EXPECT_EQ(report.rows_lost, 1u);
  EXPECT_EQ(verify_snapshot(*LiveIndex(system, "mended", {}).published()->get(), true),
            std::vector<std::string>{});
}

}  // namespace
}  // namespace culmen::storage
