// Directories whose checksums are all right and whose rows, leaves and nodes are not as writers and engines
// rely on them to be: refused when they are loaded, or, where that would cost too much, when they are written
// to.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
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

// What is wrong with an index that was changed and then published; empty: nothing that is seen.
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
  return reinterpret_cast<float*>(s.blocks->values(leaf)) + attribute * kSlots;
}

float& corner(Snapshot& s, std::size_t leaf, Corner which, std::size_t attribute) {
  return reinterpret_cast<float*>(s.blocks->corners(leaf))[static_cast<std::size_t>(which) * 2 + attribute];
}

void swap_rows(Snapshot& s, std::size_t leaf, std::size_t a, std::size_t b) {
  for (std::size_t i = 0; i < 2; ++i) std::swap(column(s, leaf, i)[a], column(s, leaf, i)[b]);
  std::swap(s.blocks->ids(leaf)[a], s.blocks->ids(leaf)[b]);
}

// Each says what is true of its own rows, and covers any that may follow.
void swap_leaves(Snapshot& s, std::size_t a, std::size_t b) {
  std::swap_ranges(s.blocks->values(a), s.blocks->values(a) + s.blocks->shape().leaf_bytes(),
                   s.blocks->values(b));
  std::swap_ranges(s.blocks->ids(a), s.blocks->ids(a) + kSlots, s.blocks->ids(b));
  std::swap_ranges(s.blocks->corners(a),
                   s.blocks->corners(a) + kNumCorners * s.blocks->shape().corner_bytes(),
                   s.blocks->corners(b));
  std::swap(s.blocks->leaf(a), s.blocks->leaf(b));
  for (const std::size_t leaf : {a, b}) {
    s.blocks->leaf(leaf).suffix_min_id = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < 2; ++i) {
      corner(s, leaf, Corner::suffix_maximum, i) = std::numeric_limits<float>::max();
      corner(s, leaf, Corner::suffix_minimum, i) = std::numeric_limits<float>::lowest();
    }
  }
}

TEST(LyingIndex, OfRowsOutOfOrderIsRefused) {
  EXPECT_TRUE(is_refused("rows that are not in key order", [](Snapshot& s) { swap_rows(s, 3, 4, 9); }));
  EXPECT_TRUE(is_refused("rows that are not in key order", [](Snapshot& s) { swap_rows(s, 0, 0, 1); }));
  EXPECT_TRUE(is_refused("rows that are not in key order", [](Snapshot& s) {  // a tie of keys goes by id
    for (std::size_t i = 0; i < 2; ++i) column(s, 2, i)[5] = column(s, 2, i)[6];
    std::int64_t* ids = s.blocks->ids(2);
    if (ids[5] < ids[6]) std::swap(ids[5], ids[6]);
    s.blocks->leaf(2).min_id = *std::min_element(ids, ids + s.blocks->leaf(2).num_rows);
  }));
}

TEST(LyingIndex, OfLeavesOutOfOrderIsRefused) {
  EXPECT_TRUE(is_refused("leaves that are not in key order", [](Snapshot& s) { swap_leaves(s, 1, 2); }));
  EXPECT_TRUE(is_refused("leaves that are not in key order", [](Snapshot& s) { swap_leaves(s, 0, 40); }));
}

TEST(LyingIndex, OfValuesOutsideOfTheirCornersIsRefused) {
  EXPECT_TRUE(is_refused("outside of its leaf's corners", [](Snapshot& s) {
    corner(s, 1, Corner::maximum, 0) = corner(s, 1, Corner::minimum, 0);
  }));
}

TEST(LyingIndex, OfThresholdsThatDoNotCoverLaterLeavesIsRefused) {
  EXPECT_TRUE(is_refused("threshold tuple", [](Snapshot& s) {
    corner(s, 1, Corner::suffix_maximum, 0) = s.corner<float>(30, Corner::maximum)[0] - 1;
  }));
  EXPECT_TRUE(is_refused("threshold tuple", [](Snapshot& s) {
    corner(s, 1, Corner::suffix_minimum, 1) = s.corner<float>(30, Corner::minimum)[1] + 1;
  }));
  EXPECT_TRUE(is_refused("threshold tuple", [](Snapshot& s) {
    s.blocks->leaf(1).suffix_min_id = std::numeric_limits<std::int64_t>::max();
  }));
}

TEST(LyingIndex, OfSmallestIdsThatAreNoneIsRefused) {
  EXPECT_TRUE(is_refused("smallest id", [](Snapshot& s) { --s.blocks->leaf(5).min_id; }));
  EXPECT_TRUE(is_refused("smallest id", [](Snapshot& s) { ++s.blocks->mutable_node(0).min_ids()[3]; }));
  EXPECT_TRUE(is_refused("smallest id", [](Snapshot& s) { --s.blocks->mutable_node(s.root).min_ids()[0]; }));
  EXPECT_TRUE(is_refused("smallest id", [](Snapshot& s) {
    s.blocks->mutable_node(s.root).header().min_id = std::numeric_limits<std::int64_t>::max();
  }));
}

TEST(LyingIndex, ThatWouldGiveAnIdTwiceIsRefused) {
  EXPECT_TRUE(is_refused("not to be given yet", [](Snapshot& s) { s.next_id -= 7; }));
  EXPECT_EQ(complaint(kShape, [](Snapshot& s) { s.next_id = std::numeric_limits<std::int64_t>::max(); }), "");
}

TEST(LyingIndex, OfBoundsThatDoNotCoverAnAttributeIsRefused) {
  for (const bool at_the_root : {false, true})
    for (const bool highest : {false, true})
      EXPECT_TRUE(is_refused("does not cover an attribute",
                             [&](Snapshot& s) {
                               const int row = highest ? s.layout.maximum_row(1) : s.layout.minimum_row(1);
                               const MutableNode node = s.blocks->mutable_node(at_the_root ? s.root : 0);
                               node.bounds()[row].set(1, highest ? -1e5f : 1e5f, node.header().num_children,
                                                      s.layout.extreme_of(row));
                             }))
          << at_the_root << highest;
}

TEST(LyingIndex, OfRowsOfBoundsThatNoWriterMakesIsRefused) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const auto with_row = [](Extreme extreme, float base, std::uint32_t scale) {
    return complaint(kShape, [&](Snapshot& s) {
      const int row = s.layout.subset_row(0, 3, extreme);  // a sum, which nothing else checks
      BoundRow& changed = s.blocks->mutable_node(0).bounds()[row];
      changed = {};
      changed.base = base;
      changed.scale = scale;
    });
  };
  const auto is_named = [](const std::string& complaint) {
    return complaint.find("no writer makes") != std::string::npos;
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

TEST(LyingIndex, OfSumsThatRoundIsRefused) {
  EXPECT_TRUE(is_refused("can round", [](Snapshot& s) {
    s.exact_sums = true;
    s.stats[0].quantum = -1074;
  }));
}

// Single children, one above the other.
void raise(Snapshot& s, int num_levels) {
  for (; num_levels > 0; --num_levels) {
    const auto above = static_cast<std::uint32_t>(s.num_nodes++);
    s.blocks->grow_nodes(s.num_nodes);
    const NodeAccess<std::byte> node = s.blocks->mutable_node(above);
    std::memcpy(node.bytes, s.node(s.root).bytes, s.blocks->node_bytes());
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
  for (const std::uint64_t tuples : {manifest.num_leaves - 1, manifest.num_leaves * kSlots + 1}) {
    manifest.num_tuples = tuples;
    EXPECT_THROW(parse_manifest(to_text(manifest), ""), FormatError) << tuples;
  }
}

TEST(TreeHeight, IsThatOfTheThinnestTreeThatIsMade) {
  EXPECT_EQ(most_levels(0), 0);
  EXPECT_EQ(most_levels(1), kMostLoadedLevels);
  EXPECT_EQ(most_levels((1u << 21) - 1), 7);
  EXPECT_EQ(most_levels(1u << 21), 8);
  EXPECT_EQ(most_levels(1u << 24), 9);
  EXPECT_EQ(most_levels(0xffffffff), kMostLevels);
}

// ---- Ids: whoever writes finds out

std::shared_ptr<Snapshot> with_repeated_id(std::size_t from_leaf, std::size_t from, std::size_t leaf,
                                           std::size_t to) {
  const std::shared_ptr<Snapshot> s = make_snapshot(kShape);
  s->blocks->ids(leaf)[to] = s->blocks->ids(from_leaf)[from];
  const std::int64_t* ids = s->blocks->ids(leaf);
  s->blocks->leaf(leaf).min_id = *std::min_element(ids, ids + s->blocks->leaf(leaf).num_rows);
  return s;
}

TEST(LyingIndex, OfAnIdInTwoRowsIsRefusedByWriters) {
  for (const auto& [leaf, position] : {std::pair<std::size_t, std::size_t>{20, 3}, {6, 9}, {6, 3}})
    EXPECT_THROW(TreeWriter(with_repeated_id(6, 2, leaf, position)), FormatError) << leaf;
  EXPECT_NO_THROW(TreeWriter(make_snapshot(kShape)));
}

TEST(LyingIndex, OfAnIdInTwoRowsIsMendedByRepair) {
  const std::shared_ptr<Snapshot> s = make_snapshot(kShape);
  const std::int64_t id = s->blocks->ids(6)[15];
  // The largest of a leaf, so that no smallest id changes with it.
  std::size_t leaf = 7, row = 0;
  while (true) {
    const std::int64_t* ids = s->blocks->ids(leaf);
    row = static_cast<std::size_t>(std::max_element(ids, ids + s->leaf(leaf).num_rows) - ids);
    if (s->leaf(leaf).min_id < id && ids[row] != id) break;
    ++leaf;
  }
  s->blocks->ids(leaf)[row] = id;
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
