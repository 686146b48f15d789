// TreeNodes: the inner nodes of the version that is being made, with copy on write.
//
// A node has a page number, which it keeps while its copies move between slots; parents are recorded by page number. A
// node is writable if its header carries the version that is being made. All nodes above a writable node are writable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "index/snapshot.h"
#include "index/write/id_map.h"
#include "index/write/leaf_pages.h"
#include "index/write/node_columns.h"
#include "index/write/slots.h"

namespace culmen {

struct NodePage {
  std::uint32_t slot = 0;       // kNoPage: a free page number
  PageNumber parent = kNoPage;  // of the root: none
};

class TreeNodes {
 public:
  // The leaf pages are those of `base`. Sets their parents; on touch each when it is needed (know_parent_of_leaf).
  TreeNodes(const Snapshot& base, LeafPages& leaves, Loading loading);

  // Between these two, the calls below change the tree of `next`.
  void begin_version(Snapshot& next);
  void end_version(const Snapshot& base);
  Snapshot& next() const { return *next_; }

  std::size_t num_slots_available() const { return slots_.num_available(); }
  std::uint32_t slots_end() const { return slots_.end(); }
  std::size_t num_pages() const { return pages_.size(); }  // including free page numbers
  bool is_free(PageNumber page) const { return pages_[page].slot == kNoPage; }

  NodeRef node(PageNumber page) const { return next_->node(pages_[page].slot); }
  MutableNode writable(PageNumber page) { return next_->arena->mutable_node(pages_[page].slot); }
  bool is_writable(PageNumber page) const { return node(page).header().version == next_->version; }
  std::uint32_t slot(PageNumber page) const { return pages_[page].slot; }
  PageNumber parent(PageNumber page) const { return pages_[page].parent; }
  bool is_root(PageNumber page) const { return pages_[page].parent == kNoPage; }
  // Of a page that is not the root.
  std::uint32_t position_in_parent(PageNumber page) const {
    return position_of(node(parent(page)), pages_[page].slot);
  }
  PageNumber node_in(std::uint32_t slot) const { return node_of_slot_[slot]; }
  PageNumber leaf_in(std::uint32_t slot) const { return leaf_of_slot_[slot]; }

  // Of a tree that is read on touch, before the page or the node is changed: reads the nodes above the leaf page, and
  // tells the children of each who their parent is; the same for the children of one node, whose own parent is known.
  // Throws FormatError if the nodes do not form a tree, and what reading them throws.
  void know_parent_of_leaf(PageNumber leaf);
  void know_children(PageNumber page);

  // Makes these nodes, which are of one level, and all nodes above them writable. Copies in parallel. Calls edit(n) for
  // the n-th of the distinct pages, in ascending order, right after it was copied.
  void make_writable(std::vector<PageNumber> pages, const std::function<void(std::size_t)>& edit = {});
  void make_all_writable();

  // A writable node without children and parent.
  PageNumber new_node(std::uint32_t level);
  // Frees a node that no other refers to any more.
  void drop(PageNumber page);
  void set_parent(PageNumber page, PageNumber parent) { pages_[page].parent = parent; }
  // Makes the node the parent of its children.
  void adopt(PageNumber page);

  // Makes the page's node, which is writable, refer to its leaf in `slot`, and have its bounds. The page itself is moved by the
  // caller, and nodes above are not updated. Concurrent calls are allowed for different nodes.
  void set_child_leaf(PageNumber leaf, std::uint32_t slot, std::span<const float> rows);
  // Records that the leaf page is in `slot`; its node is updated by the caller.
  void note_leaf_slot(PageNumber leaf, std::uint32_t slot) { note_slot(leaf_of_slot_, slot, leaf); }

 private:
  struct Copy {
    PageNumber page;
    std::uint32_t from, to;  // slots; equal: the page is writable already
  };

  void read_pages(const Snapshot& base);
  void number_pages();
  PageNumber& parent_of_child(NodeRef node, std::uint32_t child);
  PageNumber filed_parent(std::size_t level, std::uint32_t child) const;

  Copy claim(PageNumber page, std::vector<PageNumber>& above);
  void copy_node(const Copy& copy) const;
  void link(const Copy& copy);
  static void note_slot(std::vector<PageNumber>& of_slot, std::uint32_t slot, PageNumber page);
  PageNumber new_page();

  LeafPages& leaves_;
  const std::shared_ptr<const FiledTree> filed_;  // null: all parents are known
  std::vector<NodePage> pages_;
  std::vector<PageNumber> free_pages_;
  std::vector<PageNumber> leaf_of_slot_, node_of_slot_;
  Slots slots_;
  Snapshot* next_ = nullptr;
};

}  // namespace culmen
