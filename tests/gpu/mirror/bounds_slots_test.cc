// Bounds slots of level-1 nodes, compared with trees after batches of all kinds. Needs no GPU.
#include "gpu/mirror/bounds_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/cases.h"
#include "tests/index/write/written_tree.h"

namespace culmen::test {
namespace {

using gpu::BoundsSlot;
using gpu::BoundsSlots;

// The contents of the slots as update() reports them: a node's slot and the version of the node written there.
class Slots {
 public:
  void follow(const Snapshot& s, std::optional<std::uint64_t> since) {
    const TreeChanges changes = changes_since(s, since);
    const std::vector<BoundsSlot> written = slots_.update(changes.level_1);
    if (written.size() == slots_.size()) at_.assign(slots_.size(), {});
    num_written_ = written.size();
    for (const auto& [slot, node] : written)
      at_.at(slot) = {node, node == gpu::kNoNode ? 0 : s.node(node).header().version};
  }

  std::size_t size() const { return at_.size(); }
  std::size_t num_written() const { return num_written_; }

  std::string fault(const Snapshot& s) const {
    std::map<std::uint32_t, std::uint64_t> versions;
    for (const auto& [node, version] : at_)
      if (node != gpu::kNoNode && !versions.emplace(node, version).second) return "a node in two slots";
    std::size_t num_nodes = 0;
    for (const std::uint32_t slot : s.order().nodes) {
      const NodeHeader& header = s.node(slot).header();
      if (header.level > 1) break;
      ++num_nodes;
      if (!versions.contains(slot)) return "a node without a slot";
      if (versions[slot] != header.version) return "an old node in a slot";
    }
    if (num_nodes != versions.size()) return "a slot for a removed node";
    return at_.size() % 32 == 0 ? "" : "an incomplete group";
  }

 private:
  BoundsSlots slots_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> at_;
  std::size_t num_written_ = 0;
};

class BoundsSlotsAfter : public testing::TestWithParam<Writes> {};

TEST_P(BoundsSlotsAfter, AreThoseOfTheTree) {
  const std::uint64_t num_batches = num_cases(20'000) / 100;
  WrittenTree tree(GetParam(), 11);
  Slots slots;
  std::weak_ptr<const SlotArena> arena;
  std::uint64_t number = 0;
  for (std::uint64_t b = 0; b < num_batches; ++b) {
    const Snapshot& s = *tree.version();
    const bool is_same = arena.lock() == s.arena;
    if (!is_same) slots = {};
    if (s.height > 0) {
      slots.follow(s, is_same ? std::optional(number) : std::optional<std::uint64_t>());
      ASSERT_EQ(slots.fault(s), "") << "batch " << b;
    }
    arena = s.arena;
    number = s.version;
    do tree.write();
    while (tree.random().chance(0.2));
  }
}

INSTANTIATE_TEST_SUITE_P(All, BoundsSlotsAfter, testing::ValuesIn(all_writes()),
                         [](const auto& suite) { return suite.param.name; });

std::vector<TreeChanges::Node> nodes(std::uint32_t first, std::uint32_t count) {
  std::vector<TreeChanges::Node> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({first + i, true});
  return all;
}

TEST(BoundsSlots, OfNeighboursAreInDifferentGroups) {
  BoundsSlots slots;
  const std::vector<BoundsSlot> written = slots.update(nodes(0, 1000));
  ASSERT_EQ(slots.size(), 1056u);  // and one in 32 for later nodes
  ASSERT_EQ(written.size(), 1056u);
  for (std::size_t i = 1; i < 1000; ++i) EXPECT_NE(written[i].slot / 32, written[i - 1].slot / 32);
}

TEST(BoundsSlots, OfOneChangeAreOne) {
  BoundsSlots slots;
  std::vector<TreeChanges::Node> level_1 = nodes(0, 1000);
  slots.update(level_1);
  for (TreeChanges::Node& node : level_1) node.is_new = false;
  level_1[500] = {5000, true};  // a copy in another slot
  const std::vector<BoundsSlot> written = slots.update(level_1);
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].node, 5000u);
  EXPECT_TRUE(slots.update(std::vector(level_1.begin(), level_1.begin() + 500)).size() > 499);  // emptied
}

TEST(BoundsSlots, AreLaidOutAnewForManyMoreAndForFewerNodes) {
  BoundsSlots slots;
  slots.update(nodes(0, 1000));
  slots.update(nodes(0, 1057));
  EXPECT_EQ(slots.size(), 1120u);
  slots.update(nodes(0, 20));
  EXPECT_EQ(slots.size(), 32u);
  slots.update(nodes(0, 1));
  EXPECT_EQ(slots.size(), 32u);
}

}  // namespace
}  // namespace culmen::test
