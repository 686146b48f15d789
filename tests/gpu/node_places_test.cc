// Places of level-1 nodes, held against trees after batches of all kinds. Needs no GPU.
#include "gpu/mirror/node_places.h"

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

using gpu::NodePlace;
using gpu::NodePlaces;

// What is in the places, as far as it was told: a node's slot and the version of what was read there.
class Places {
 public:
  void follow(const Snapshot& s, std::optional<std::uint64_t> since) {
    const TreeChanges changes = changes_since(s, since);
    const std::vector<NodePlace> written = places_.update(changes.level_1);
    if (written.size() == places_.size()) at_.assign(places_.size(), {});
    num_written_ = written.size();
    for (const auto& [place, node] : written)
      at_.at(place) = {node, node == gpu::kNoNode ? 0 : s.node(node).header().version};
  }

  std::size_t size() const { return at_.size(); }
  std::size_t num_written() const { return num_written_; }

  std::string fault(const Snapshot& s) const {
    std::map<std::uint32_t, std::uint64_t> versions;
    for (const auto& [node, version] : at_)
      if (node != gpu::kNoNode && !versions.emplace(node, version).second) return "a node in two places";
    std::size_t num_nodes = 0;
    for (const std::uint32_t slot : s.order().nodes) {
      const NodeHeader& header = s.node(slot).header();
      if (header.level > 1) break;
      ++num_nodes;
      if (!versions.contains(slot)) return "a node without a place";
      if (versions[slot] != header.version) return "an old node in a place";
    }
    if (num_nodes != versions.size()) return "a place for a node that has gone";
    return at_.size() % 32 == 0 ? "" : "an incomplete group";
  }

 private:
  NodePlaces places_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> at_;
  std::size_t num_written_ = 0;
};

class NodePlacesAfter : public testing::TestWithParam<Writes> {};

TEST_P(NodePlacesAfter, AreThoseOfTheTree) {
  const std::uint64_t num_batches = num_cases(20'000) / 100;
  WrittenTree tree(GetParam(), 11);
  Places places;
  std::weak_ptr<const Blocks> blocks;
  std::uint64_t number = 0;
  for (std::uint64_t b = 0; b < num_batches; ++b) {
    const Snapshot& s = *tree.version();
    const bool is_same = blocks.lock() == s.blocks;
    if (!is_same) places = {};
    if (s.height > 0) {
      places.follow(s, is_same ? std::optional(number) : std::optional<std::uint64_t>());
      ASSERT_EQ(places.fault(s), "") << "batch " << b;
    }
    blocks = s.blocks;
    number = s.version;
    do tree.write();
    while (tree.random().chance(0.2));
  }
}

INSTANTIATE_TEST_SUITE_P(All, NodePlacesAfter, testing::ValuesIn(all_writes()),
                         [](const auto& suite) { return suite.param.name; });

std::vector<TreeChanges::Node> nodes(std::uint32_t first, std::uint32_t count) {
  std::vector<TreeChanges::Node> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({first + i, true});
  return all;
}

TEST(NodePlaces, OfNeighboursAreInDifferentGroups) {
  NodePlaces places;
  const std::vector<NodePlace> written = places.update(nodes(0, 1000));
  ASSERT_EQ(places.size(), 1056u);  // and one in 32 for those to come
  ASSERT_EQ(written.size(), 1056u);
  for (std::size_t i = 1; i < 1000; ++i) EXPECT_NE(written[i].place / 32, written[i - 1].place / 32);
}

TEST(NodePlaces, OfOneChangeAreOne) {
  NodePlaces places;
  std::vector<TreeChanges::Node> level_1 = nodes(0, 1000);
  places.update(level_1);
  for (TreeChanges::Node& node : level_1) node.is_new = false;
  level_1[500] = {5000, true};  // a copy in another slot
  const std::vector<NodePlace> written = places.update(level_1);
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].node, 5000u);
  EXPECT_TRUE(places.update(std::vector(level_1.begin(), level_1.begin() + 500)).size() > 499);  // emptied
}

TEST(NodePlaces, AreLaidOutAnewForManyMoreAndForFewerNodes) {
  NodePlaces places;
  places.update(nodes(0, 1000));
  places.update(nodes(0, 1057));
  EXPECT_EQ(places.size(), 1120u);
  places.update(nodes(0, 20));
  EXPECT_EQ(places.size(), 32u);
  places.update(nodes(0, 1));
  EXPECT_EQ(places.size(), 32u);
}

}  // namespace
}  // namespace culmen::test
