#include "index/tree_changes.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstddef>
#include <span>

#include "base/lock_isolated.h"
#include "index/read_session.h"

namespace culmen {
namespace {

using Node = TreeChanges::Node;

// Parents per task. A task takes a few microseconds, and mostly waits for memory.
constexpr std::size_t kGrainOfChanges = 4;

// The children of `parents`. Calls is_new(slot) for those of new parents only; no others are new.
template <typename IsNew>
std::vector<Node> children_of(const Snapshot& s, std::span<const Node> parents, IsNew&& is_new) {
  std::vector<Node> children(parents.size() * kFanOut);
  std::vector<std::uint32_t> counts(parents.size());
  const auto read = [&](const tbb::blocked_range<std::size_t>& range) {
    ReadSession session(s);
    for (std::size_t p = range.begin(); p < range.end(); ++p) {
      session.rest();
      const NodeRef node = s.node(parents[p].slot);
      counts[p] = node.header().num_children;
      for (std::size_t c = 0; c < counts[p]; ++c) {
        const std::uint32_t slot = node.children()[c];
        children[p * kFanOut + c] = {slot, parents[p].is_new && is_new(slot)};
      }
    }
  };
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, parents.size(), kGrainOfChanges), read);
  std::size_t size = 0;  // close the gaps in place
  for (std::size_t p = 0; p < parents.size(); ++p)
    for (std::size_t c = 0; c < counts[p]; ++c) children[size++] = children[p * kFanOut + c];
  children.resize(size);
  return children;
}

void append_new(const std::vector<Node>& all, std::vector<std::uint32_t>& slots) {
  for (const Node& node : all)
    if (node.is_new) slots.push_back(node.slot);
}

std::vector<Node> new_ones(const std::vector<Node>& all) {
  std::vector<Node> some;
  for (const Node& node : all)
    if (node.is_new) some.push_back(node);
  return some;
}

}  // namespace

TreeChanges changes_since(const Snapshot& s, std::optional<std::uint64_t> since) {
  TreeChanges changes;
  if (s.height == 0) return changes;
  const auto node_is_new = [&](std::uint32_t slot) {
    return !since || s.node(slot).header().version > *since;
  };
  const auto leaf_is_new = [&](std::uint32_t slot) { return !since || s.leaf(slot).version > *since; };
  std::vector<Node> level = {{s.root, node_is_new(s.root)}};
  for (int height = s.height; height > 1; --height) {
    append_new(level, changes.nodes);
    level = children_of(s, level, node_is_new);
  }
  append_new(level, changes.nodes);
  append_new(children_of(s, new_ones(level), leaf_is_new), changes.leaves);
  changes.level_1 = std::move(level);
  return changes;
}

const TreeChanges& ChangesOfVersion::since(const Snapshot& snapshot, std::optional<std::uint64_t> older) {
  return *lock_isolated(mutex_, [&]() -> const TreeChanges* {
    auto known = found_.find(older);
    if (known == found_.end()) known = found_.emplace(older, changes_since(snapshot, older)).first;
    return &known->second;
  });
}

}  // namespace culmen
