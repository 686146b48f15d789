// WorkingTree: the tree that a writer changes: pages of leaves, the nodes above them, which page holds each
// id, and the memory that is free. Each step of a batch (LocatedChange, Rebalancer, LeafRewriter) works on
// its parts; they agree again when the batch is done.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "index/snapshot.h"
#include "index/write/id_map.h"
#include "index/write/leaf_pages.h"
#include "index/write/page_extremes.h"
#include "index/write/slots.h"
#include "index/write/tree_nodes.h"

namespace culmen {

struct WorkingTree {
  // Throws FormatError if an id stands in two rows.
  explicit WorkingTree(const Snapshot& tree);
  WorkingTree(const WorkingTree&) = delete;
  WorkingTree& operator=(const WorkingTree&) = delete;

  // `version` is changed in place until end_version(), which is told of the version before it.
  void begin_version(Snapshot& version);
  void end_version(const Snapshot& base);

  struct RowPosition {
    PageNumber page = kNoPage;
    std::uint32_t row = 0;  // of the leaf
  };
  // kNoPage: the id is not there.
  RowPosition find(std::int64_t id) const;

  const LeafHeader& leaf(PageNumber page) const { return next->leaf(pages[page].slot); }

  // A page beside `neighbour`, whose node is owned. `position`: in its partition. Its slot is written.
  PageNumber insert_page(const LeafPage& page, std::size_t position, TreeNodes::Side side,
                         PageNumber neighbour, std::span<const float> rows);
  void remove_page(PageNumber page);
  // The page's new leaf, which nothing else has been told of yet but its node.
  void switch_to(PageNumber page, std::uint32_t slot);
  // The version that is being made does without this leaf.
  void release_leaf(std::uint32_t slot);

  Snapshot* next = nullptr;  // the version that is being made
  std::shared_ptr<SlotArena> arena;
  LeafPages pages;
  TreeNodes nodes;
  Slots leaf_slots;
  IdMap ids;
  PageExtremes extremes;
};

}  // namespace culmen
