// WorkingTree: the tree that a writer changes: leaf pages, the nodes above them, the page of each id, and the free
// slots. The steps of a batch (tree_writer.h) work on these parts. They are consistent again when the batch is done.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "culmen/open.h"
#include "index/snapshot.h"
#include "index/write/leaf_pages.h"
#include "index/write/node_balancer.h"
#include "index/write/node_bounds.h"
#include "index/write/pages_of_ids.h"
#include "index/write/slots.h"
#include "index/write/tree_nodes.h"

namespace culmen {

struct WorkingTree {
  // Reads the whole tree, and throws FormatError if two rows have the same id; or nothing of a tree that is read on touch
  // (Snapshot::filed_tree). Then each call reads what it needs, and may throw FormatError or IoError.
  explicit WorkingTree(const Snapshot& tree, Loading loading = Loading::whole);
  WorkingTree(const WorkingTree&) = delete;
  WorkingTree& operator=(const WorkingTree&) = delete;

  // `version` is changed in place until end_version(), whose `base` is the version before it.
  void begin_version(Snapshot& version);
  void end_version(const Snapshot& base);

  struct RowPosition {
    PageNumber page = kNoPage;
    std::uint32_t row = 0;  // in the leaf
  };
  // Returns kNoPage if the id is not in the index.
  RowPosition find(std::int64_t id) const;
  // Whether all of the tree was read to make this.
  bool is_whole() const { return loading == Loading::whole; }

  const LeafHeader& leaf(PageNumber page) const { return next->leaf(pages[page].slot); }

  // Inserts a page, whose leaf is written, beside `neighbour`, whose node is writable. `position`: in its partition.
  PageNumber insert_page(const LeafPage& page, std::size_t position, NodeBalancer::Side side,
                         PageNumber neighbour, std::span<const float> rows);
  void remove_page(PageNumber page);
  // Moves the page to a new leaf, to which its node refers already, and releases the old one.
  void switch_to(PageNumber page, std::uint32_t slot);
  // Frees or retires the slot of a leaf to which the version that is being made does not refer any more.
  void release_leaf(std::uint32_t slot);

  const Loading loading;
  Snapshot* next = nullptr;  // the version that is being made
  std::shared_ptr<SlotArena> arena;
  LeafPages pages;
  TreeNodes nodes;
  NodeBounds bounds;
  NodeBalancer balancer;
  Slots leaf_slots;
  PagesOfIds ids;

 private:
  void insert_all_ids(const Snapshot& tree);
};

}  // namespace culmen
