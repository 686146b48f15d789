// ReadSession: while one is there, what its thread reads of a tree stays where it is. Whoever reads slots has one, and holds
// no address beyond its end. It costs nothing unless the tree's memory has a limit (index/slot_cache.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "index/node_layout.h"
#include "index/snapshot.h"

namespace culmen {

class ReadSession {
 public:
  explicit ReadSession(const Snapshot& tree) {
    if (tree.has_memory_limit()) session_.emplace(*tree.arena->cache());
  }

  // The thread holds no address now. For loops that read much.
  void rest() {
    if (session_) session_->rest();
  }

  // The node, all but its bounds, until the session ends, whenever it rests.
  NodeRef keep(NodeRef node) {
    if (!session_) return node;
    kept_.push_back(std::make_unique<NodeHead>());
    std::memcpy(kept_.back()->data(), node.bytes, kNodeBoundsOffset);
    return {kept_.back()->data()};
  }

 private:
  using NodeHead = std::array<std::byte, kNodeBoundsOffset>;

  std::optional<SlotCache::Session> session_;
  std::vector<std::unique_ptr<NodeHead>> kept_;
};

}  // namespace culmen
