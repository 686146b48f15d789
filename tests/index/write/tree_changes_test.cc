// A copy of what changes_since names is enough to follow a tree: a follower that keeps bytes by slot is compared with
// the tree after batches of all kinds.
#include "index/tree_changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/cases.h"
#include "tests/index/write/written_tree.h"

namespace culmen::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes leaf_bytes(const Snapshot& s, std::uint32_t slot) {
  const SlotArena& arena = *s.arena;
  const LeafShape& shape = arena.shape();
  Bytes bytes;
  const auto append = [&bytes](const void* from, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), first, first + size);
  };
  append(&s.leaf(slot), sizeof(LeafHeader));
  append(arena.values(slot), shape.leaf_bytes());
  append(arena.ids(slot), shape.leaf_rows * sizeof(std::int64_t));
  append(arena.zone_map(slot), kZoneVectors * shape.zone_vector_bytes());
  return bytes;
}

Bytes node_bytes(const Snapshot& s, std::uint32_t slot) {
  const std::byte* first = s.node(slot).bytes;
  return {first, first + s.arena->node_bytes()};
}

// The slots of level 1 come first in the order.
std::vector<std::uint32_t> level_1_of(const Snapshot& s) {
  const std::vector<std::uint32_t>& nodes = s.order().nodes;
  const auto end = std::find_if(nodes.begin(), nodes.end(),
                                [&s](std::uint32_t node) { return s.node(node).header().level > 1; });
  return {nodes.begin(), end};
}

class Follower {
 public:
  void follow(const std::shared_ptr<const Snapshot>& version) {
    const bool is_same = arena_.lock() == version->arena;
    if (!is_same) leaves_.clear(), nodes_.clear();
    const TreeChanges changes =
        changes_since(*version, is_same ? std::optional(number_) : std::optional<std::uint64_t>());
    for (const std::uint32_t slot : changes.leaves) leaves_[slot] = leaf_bytes(*version, slot);
    for (const std::uint32_t slot : changes.nodes) nodes_[slot] = node_bytes(*version, slot);
    num_copied_ = changes.leaves.size() + changes.nodes.size();
    level_1_.clear();
    for (const TreeChanges::Node& node : changes.level_1) level_1_.push_back(node.slot);
    number_ = version->version;
    arena_ = version->arena;
  }

  std::size_t num_copied() const { return num_copied_; }

  // Empty if it has the whole version that it followed to.
  std::string fault(const Snapshot& s) const {
    for (const std::uint32_t slot : s.order().leaves)
      if (!leaves_.contains(slot) || leaves_.at(slot) != leaf_bytes(s, slot))
        return "leaf " + std::to_string(slot);
    for (const std::uint32_t slot : s.order().nodes)
      if (!nodes_.contains(slot) || nodes_.at(slot) != node_bytes(s, slot))
        return "node " + std::to_string(slot);
    return level_1_ == level_1_of(s) ? "" : "the nodes of level 1";
  }

 private:
  std::map<std::uint32_t, Bytes> leaves_, nodes_;
  std::vector<std::uint32_t> level_1_;
  std::weak_ptr<const SlotArena> arena_;
  std::uint64_t number_ = 0;
  std::size_t num_copied_ = 0;
};

class TreeChangesAfter : public testing::TestWithParam<Writes> {};

TEST_P(TreeChangesAfter, AreAllThatAFollowerNeeds) {
  const std::uint64_t num_batches = num_cases(20'000) / 100;
  for (const std::uint64_t seed : {1, 2}) {
    WrittenTree tree(GetParam(), seed);
    Follower every, some;  // the second skips versions, so that slots are reused in between
    for (std::uint64_t b = 0; b < num_batches; ++b) {
      every.follow(tree.version());
      ASSERT_EQ(every.fault(*tree.version()), "") << "batch " << b << ", seed " << seed;
      if (tree.random().chance(0.2)) {
        some.follow(tree.version());
        ASSERT_EQ(some.fault(*tree.version()), "") << "batch " << b << ", seed " << seed;
      }
      tree.write();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TreeChangesAfter, testing::ValuesIn(all_writes()),
                         [](const auto& suite) { return suite.param.name; });

TEST(TreeChanges, OfOneRowAreAPathOfTheTree) {
  WrittenTree tree({.name = "one row", .first_rows = 20'000, .most_rows = 1}, 3);
  Follower follower;
  follower.follow(tree.version());
  EXPECT_EQ(follower.num_copied(), tree.version()->num_leaves + tree.version()->num_nodes);
  std::size_t most = 0;
  for (int b = 0; b < 100; ++b) {
    follower.follow(tree.write());
    most = std::max(most, follower.num_copied());
  }
  EXPECT_LT(most, 60u);  // of 1,700
}

TEST(TreeChanges, OfTheSameVersionAreNone) {
  WrittenTree tree({.name = "none"}, 4);
  tree.write();
  const TreeChanges changes = changes_since(*tree.version(), tree.version()->version);
  EXPECT_TRUE(changes.leaves.empty());
  EXPECT_TRUE(changes.nodes.empty());
  EXPECT_EQ(changes.level_1.size(), level_1_of(*tree.version()).size());
}

TEST(TreeChanges, AreFoundOnceForAllThatFollowFromOneVersion) {
  WrittenTree tree({.name = "once"}, 5);
  const std::uint64_t before = tree.version()->version;
  const std::shared_ptr<const Snapshot> now = tree.write();
  ChangesOfVersion found;
  const TreeChanges& changes = found.since(*now, before);
  EXPECT_EQ(changes.leaves, changes_since(*now, before).leaves);
  EXPECT_EQ(&found.since(*now, before), &changes);
  EXPECT_EQ(found.since(*now, {}).leaves.size(), now->num_leaves);  // of a follower that has nothing
  EXPECT_EQ(found.since(*now, before).nodes, changes_since(*now, before).nodes);
}

}  // namespace
}  // namespace culmen::test
