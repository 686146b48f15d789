// TreeNodes: the inner nodes of the version that is being made: copy on write, children that come, go and
// grow, split, merge and borrow.
//
// A node keeps its page number while copies of it wander from slot to slot, so that links from below to above
// hold. A node of the version that is being made is `owned`: its header carries that version, and so do all
// nodes above it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "index/snapshot.h"
#include "index/write/id_map.h"
#include "index/write/leaf_pages.h"
#include "index/write/node_columns.h"
#include "index/write/slots.h"

namespace culmen {

struct NodePage {
  std::uint32_t slot = 0;
  PageNumber parent = kNoPage;  // of the root: none
};

class TreeNodes {
 public:
  // The leaf pages are those of `base`; they get their parents.
  TreeNodes(const Snapshot& base, LeafPages& leaves);

  // The version that is being made: its tree is what the calls below change.
  void begin_version(Snapshot& next);
  void end_version(const Snapshot& base);

  std::size_t num_slots_available() const { return slots_.num_available(); }
  std::uint32_t slots_end() const { return slots_.end(); }
  NodeRef node(PageNumber page) const { return next_->node(pages_[page].slot); }
  MutableNode writable(PageNumber page) { return next_->arena->mutable_node(pages_[page].slot); }
  PageNumber parent(PageNumber page) const { return pages_[page].parent; }

  // Makes these nodes, which are of one level, and all above them owned. Copies in parallel where it is worth
  // it, and calls edit(n) for the n-th of the pages, sorted and each but once, as soon as it is copied.
  void make_writable(std::vector<PageNumber> pages, const std::function<void(std::size_t)>& edit = {});

  void make_all_writable();
  // Every bound of every node, all of which are owned, moves outward by the error bound of a leaf of such values.
  void loosen_all();

  struct Edited {
    PageNumber node = kNoPage;
    // Its children are others than before, or those of a node between it and the root are: all bounds rows are updated
    // up to the root. If not, those of changed_rows, as far up as they change something.
    bool is_reshaped = false;
    bool has_new_zone_map = false;  // some child's are not what they were
    RowNumbers changed_rows;
  };
  // Carries changes of owned level-1 nodes up to the root.
  void propagate(std::vector<Edited> edited);

  // What these three do to bounds stays below until propagate() is told of it.
  // The leaf page moved to `slot` and has these bounds now. Its node is owned.
  void set_leaf(PageNumber leaf, std::uint32_t slot, std::span<const float> rows);
  // A leaf page comes before or after another, whose node is owned. Its slot is set.
  enum class Side { before, after };
  void insert_leaf(Side side, PageNumber neighbour, PageNumber leaf, std::span<const float> rows);
  void remove_leaf(PageNumber leaf);
  // Returns the level-1 nodes that have lost children or got those of others since the last call. They are owned; some may
  // occur twice.
  std::vector<PageNumber> take_reshaped();

  // For leaf pages that are written by others.
  void leaf_is_in(PageNumber leaf, std::uint32_t slot) { note_slot(leaf_of_slot_, slot, leaf); }
  PageNumber leaf_in(std::uint32_t slot) const { return leaf_of_slot_[slot]; }

 private:
  struct Copy {
    PageNumber page;
    std::uint32_t from, to;  // slots
  };

  Copy claim(PageNumber page, std::vector<PageNumber>& above);
  void carry_out(const Copy& copy) const;
  void link(const Copy& copy);
  static void note_slot(std::vector<PageNumber>& of_slot, std::uint32_t slot, PageNumber page);
  bool is_writable(PageNumber page) const { return node(page).header().version == next_->version; }
  bool is_root(PageNumber page) const { return pages_[page].parent == kNoPage; }
  PageNumber node_in(std::uint32_t slot) const { return node_of_slot_[slot]; }
  PageNumber new_page();
  PageNumber new_node(std::uint32_t level);
  void drop(PageNumber page);
  void adopt(PageNumber page);
  void loosen(MutableNode node) const;
  void propagate(Edited& edited, Edited& above);
  bool update_zone_map(PageNumber page) const;
  void recode_coarse_rows(MutableNode node) const;
  void recode(MutableNode node, std::uint16_t row) const;
  BoundRows own_bounds(NodeRef node) const;
  void aggregate_into_parent(PageNumber page);
  void propagate_to_root(PageNumber page);
  void insert_child(PageNumber parent, std::uint32_t position, std::uint32_t slot, std::int64_t min_id,
                    std::span<const float> rows);
  void raise_root();
  void split(PageNumber page);
  void remove_child(PageNumber parent, std::uint32_t slot);
  void lower_root();
  void fill_up(PageNumber page);
  void merge(PageNumber left, PageNumber right);
  void even_out(PageNumber left, PageNumber right);

  LeafPages& leaves_;
  std::vector<NodePage> pages_;
  std::vector<PageNumber> free_pages_;
  std::vector<PageNumber> leaf_of_slot_, node_of_slot_;
  std::vector<PageNumber> reshaped_;  // as take_reshaped(); those that were dropped, too
  Slots slots_;
  Snapshot* next_ = nullptr;
};

}  // namespace culmen
