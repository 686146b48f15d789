// The parts of an index, as devices would have them, compared with trees after batches of all kinds. Needs no GPU.
#include "gpu/mirror/shard_map.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/field_trial.h"
#include "tests/index/write/written_tree.h"

namespace culmen::test {
namespace {

using gpu::ShardMap;
using gpu::ShardPart;

// A device's memory as a ShardMap fills it: nodes' bytes, and the leaf of the host in each slot of leaves.
class Part {
 public:
  Part(const ShardPart& part, const SlotArena& arena) : map_(part, arena) {}

  void follow(const Snapshot& s, std::optional<std::uint64_t> since) {
    const TreeChanges changes = map_.update(s, changes_since(s, since));
    nodes_.resize(map_.nodes().size());
    leaves_.resize(map_.leaves().size());
    for (const std::uint32_t leaf : changes.leaves)
      leaves_[map_.leaves().on_device(leaf)] = {leaf, s.leaf(leaf).version};
    for (const std::uint32_t node : changes.nodes) {
      std::vector<std::byte>& bytes = nodes_[map_.nodes().on_device(node)];
      bytes.resize(s.arena->node_bytes());
      map_.write_node(s, node, bytes.data());
    }
    level_1_.clear();
    for (const TreeChanges::Node& node : changes.level_1) level_1_.insert(node.slot);
  }

  // Collects the leaves below the root; empty if the tree on the device is as it should be.
  std::string walk(const Snapshot& s, std::set<std::uint32_t>& leaves) {
    std::set<std::uint32_t> level_1;
    if (s.height > 0 && map_.nodes().has(s.root))
      if (std::string fault = walk_node(s, s.root, level_1, leaves); !fault.empty()) return fault;
    return level_1 == level_1_ ? "" : "other level-1 nodes";
  }

  std::size_t num_leaf_slots() const { return map_.leaves().size(); }

 private:
  std::string walk_node(const Snapshot& s, std::uint32_t host, std::set<std::uint32_t>& level_1,
                        std::set<std::uint32_t>& leaves) {
    const std::uint32_t slot = map_.nodes().on_device(host);
    const NodeRef here = {nodes_.at(slot).data()}, there = s.node(host);
    if (map_.nodes().on_host(slot) != host) return "a slot of two nodes";
    const std::uint32_t level = here.header().level;
    if (level == 1) level_1.insert(slot);
    std::uint32_t c = 0;
    for (std::uint32_t h = 0; h < there.header().num_children; ++h) {
      const std::uint32_t child = there.children()[h];
      const bool is_own = level == 1 ? map_.part().has(s.leaf(child).partition) : map_.nodes().has(child);
      if (!is_own) continue;
      if (c == here.header().num_children) return "a child is missing";
      if (here.min_ids()[c] != there.min_ids()[h]) return "another smallest id";
      for (int row = 0; row < s.layout.num_rows(); ++row)
        if (here.bounds()[row][c] != there.bounds()[row][h]) return "another bound";
      if (level == 1) {
        const auto& [leaf, version] = leaves_.at(here.children()[c]);
        if (leaf != child || version != s.leaf(child).version) return "another leaf";
        if (map_.leaves().on_host(here.children()[c]) != child) return "a slot of two leaves";
        if (!leaves.insert(child).second) return "a leaf twice";
      } else {
        if (here.children()[c] != map_.nodes().on_device(child)) return "another child";
        if (std::string fault = walk_node(s, child, level_1, leaves); !fault.empty()) return fault;
      }
      ++c;
    }
    if (c == 0) return "a node without children";
    return c == here.header().num_children ? "" : "too many children";
  }

  ShardMap map_;
  std::vector<std::vector<std::byte>> nodes_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> leaves_;
  std::set<std::uint32_t> level_1_;
};

class ShardMapAfter : public testing::TestWithParam<Writes> {};

TEST_P(ShardMapAfter, EveryLeafIsInOnePart) {
  for (const std::uint32_t num_shards : {1, 2, 3, 8}) {
    WrittenTree tree(GetParam(), 71);
    std::shared_ptr<const SlotArena> arena;
    std::vector<Part> parts;
    std::uint64_t since = 0;
    for (std::uint64_t b = 0; b < num_cases(1000) / 20 + 2; ++b) {
      const Snapshot& s = *tree.version();
      const bool is_whole = s.arena != arena;
      if (is_whole) {
        parts.clear();
        arena = s.arena;
        for (std::uint32_t shard = 0; arena != nullptr && shard < num_shards; ++shard)
          parts.emplace_back(ShardPart{shard, num_shards, 1 + num_shards % 3}, *arena);
      }
      std::set<std::uint32_t> leaves;
      std::size_t num_leaves = 0;
      for (Part& part : parts) {
        part.follow(s, is_whole ? std::nullopt : std::optional(since));
        if (b % 5 == 0) part.follow(s, is_whole ? std::nullopt : std::optional(since));  // after an error
        std::set<std::uint32_t> own;
        ASSERT_EQ(part.walk(s, own), "") << num_shards << " parts, batch " << b;
        num_leaves += own.size();
        leaves.merge(own);
        EXPECT_LE(part.num_leaf_slots(), s.leaf_slots);
      }
      if (!parts.empty()) {
        EXPECT_EQ(num_leaves, s.num_leaves);
        EXPECT_EQ(leaves.size(), s.num_leaves);
      }
      since = s.version;
      tree.write();
    }
  }
}

// Empty if the child zones of each node of a part are those that its children have on the host.
std::string zones_fault(const Snapshot& s, const ShardMap& map) {
  const ChildZonesLayout layout = s.arena->child_zones_layout();
  std::vector<std::byte> bytes(layout.node_bytes()), node_bytes(s.arena->node_bytes());
  for (const std::uint32_t host : map.own_nodes(s.order().nodes)) {
    map.write_child_zones(s, host, bytes.data());
    map.write_node(s, host, node_bytes.data());
    const NodeRef here = {node_bytes.data()}, there = s.node(host);
    const ChildZonesRef zones(bytes.data(), layout), expected = s.arena->child_zones(host);
    const gpu::SlotNumbers& below = here.header().level == 1 ? map.leaves() : map.nodes();
    for (std::uint32_t c = 0; c < here.header().num_children; ++c) {
      std::uint32_t h = 0;
      while (there.children()[h] != below.on_host(here.children()[c])) ++h;
      const auto differ = [&](const ChildGaps& a, const ChildGaps& b) {
        return (a.some_missing >> c & 1) != (b.some_missing >> h & 1) ||
               (a.some_present >> c & 1) != (b.some_present >> h & 1);
      };
      for (std::size_t a = 0; a < layout.num_attributes; ++a)
        if (differ(zones.gaps(a), expected.gaps(a))) return "gaps of an attribute";
      for (std::size_t f = 0; f < layout.num_fields; ++f) {
        const ChildZones &a = zones.zones(f), &b = expected.zones(f);
        if (differ(a.gaps, b.gaps)) return "gaps of a field";
        if (a.minimum[c] != b.minimum[h] || a.maximum[c] != b.maximum[h] || a.set[c] != b.set[h])
          return "a zone";
      }
    }
  }
  return "";
}

TEST(ShardMaps, MoveTheZonesOfChildren) {
  std::size_t num_trees = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    FieldTrial trial(seed, [&](const Index& index, const FieldOracle&, Random&) -> std::string {
      const std::shared_ptr<const Snapshot> snapshot = snapshot_of(index);
      if (snapshot->height == 0) return "";
      ++num_trees;
      for (std::uint32_t shard = 0; shard < 3; ++shard) {
        ShardMap map({shard, 3, 1}, *snapshot->arena);
        map.update(*snapshot, changes_since(*snapshot, std::nullopt));
        if (std::string fault = zones_fault(*snapshot, map); !fault.empty()) return fault;
      }
      return "";
    });
    EXPECT_EQ(trial.run(false), "") << "seed " << seed;
  }
  EXPECT_GT(num_trees, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, ShardMapAfter, testing::ValuesIn(all_writes()),
                         [](const auto& suite) { return suite.param.name; });

}  // namespace
}  // namespace culmen::test
