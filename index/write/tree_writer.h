// TreeWriter: applies batches to the tree and hands out the versions that come of it.
//
// It is a B+-tree over (partition, order key, id) whose leaves are the blocks. Rows are found by id through
// the id map, and the page that a new row belongs to by bisection among the pages of its partition. A batch
// works on copies of the leaves and nodes that it changes; published versions never change (index/blocks.h).
//
//   bounds       a row that comes raises the bounds of its leaf and of all nodes above. Rows that go leave
//                them as they are, loose but right, until a quarter of the leaf has gone or it is cut anew
//   leaves       one that is too full is cut into even parts; one that is nearly empty is put together with
//                its neighbour and cut again: a split, a merge, or rows borrowed (GTA 2019, figures 5 and 6)
//   thresholds   a row counts for all earlier leaves of its partition, however far ahead (the worked
//                insertion in the paper forgets the blocks before the one that it fills)
//   reload       a batch as large as the index, or an index that has doubled while it is small, is loaded
//                anew: partitions and units then fit the rows that are there
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "index/snapshot.h"
#include "index/write/change.h"
#include "index/write/id_map.h"
#include "index/write/leaf_writer.h"
#include "index/write/tree_nodes.h"

namespace culmen {

class TreeWriter {
 public:
  // Cost: a pass over all ids, and about 11 bytes of memory a row. Throws FormatError if an id stands in two
  // rows, which loading does not look for.
  explicit TreeWriter(std::shared_ptr<const Snapshot> base);

  // Both speak of the version that is being made.
  bool contains(std::int64_t id) const { return find(id).page != kNoPage; }
  const Snapshot& current() const { return next_ != nullptr ? *next_ : *base_; }

  // The change fits the index: what it removes is there, what it adds is not (ChangeFold finds out). Throws
  // InputError (labels of a block beyond 4 GiB) and std::bad_alloc: after that this writer is good for
  // nothing but to be thrown away, while all published versions stay what they are.
  void apply(const Change& change);

  // Makes the version of what was applied since the last one, if anything.
  std::shared_ptr<const Snapshot> publish(std::uint64_t version);

 private:
  struct Place {
    PageNumber page = kNoPage;
    std::uint32_t position = 0;
  };
  // What a batch does to one page. Values are positions in the leaf, or rows of the batch.
  enum class Kind : std::uint8_t { remove, add, cover };
  struct PageOperation {
    PageNumber page;
    Kind kind;
    std::uint32_t value;
  };
  struct PageEdit {
    PageNumber page = kNoPage;
    std::span<const PageOperation> removed, added;
    std::span<const PageOperation>
        covered;  // rows that come to later pages, and must be covered by the threshold
  };
  // Neighbouring pages, whose rows are cut into new leaves: a split, a merge, or rows borrowed.
  struct Rebalance {
    std::vector<PageNumber> pages;
    std::vector<PageEdit> edits;  // of each page; of a neighbour without one: only the page
    std::uint32_t partition = 0;
    struct Part {
      std::vector<Run> runs;
      std::uint32_t slot = 0;
      BoundRows rows;
    };
    std::vector<Part> parts;
  };

  std::size_t block_rows() const { return static_cast<std::size_t>(base_->block_rows); }
  // How full a leaf is after a cut: there is room to grow.
  std::size_t fill_rows() const { return block_rows() / 4 * 3; }
  std::size_t least_rows() const { return block_rows() / 4; }
  Place find(std::int64_t id) const;
  static std::uint64_t order_at(const Snapshot& snapshot, std::uint32_t slot, std::uint32_t position);
  void take_tree(const Snapshot& tree);
  void begin_version();
  bool wants_reload(const Change& change) const;
  void reload(const Change& change);
  bool has_room_for_pages(const Change& change) const;
  bool has_room(const std::vector<PageEdit>& edits) const;

  void add_to_stats(const Change& change);
  void loosen_all_bounds();
  void note_removed_row(std::uint32_t slot, std::uint32_t position);
  void shrink_stats();

  std::vector<PageOperation> locate(const Change& change);
  void locate_removed(const Change& change, std::vector<PageOperation>& operations);
  void locate_added(const Change& change, std::vector<PageOperation>& operations);
  std::vector<OrderKey> keys_of(const Change& change) const;
  PageNumber page_for(OrderKey key, std::int64_t id) const;
  PageNumber new_leaf_page();
  void new_partition_page(std::uint32_t partition);
  std::size_t position_in_partition(PageNumber page) const;
  void cover_in_earlier_pages(const Change& change, PageNumber page, std::uint32_t row,
                              std::vector<PageOperation>& operations) const;
  bool suffix_covers(std::uint32_t slot, const Change& change, std::uint32_t row) const;
  static std::vector<PageEdit> group(std::vector<PageOperation>& operations);

  std::size_t rows_after(const PageEdit& edit) const;
  bool needs_rebalance(const PageEdit& edit) const;
  std::vector<Run> runs_of(const PageEdit& edit, const Change& change) const;
  SuffixExtremes suffix_of(const PageEdit& edit, const Change& change) const;
  void release(std::uint32_t slot);
  void rewrite(std::vector<PageEdit>& edits, const Change& change);
  void rewrite_leaf(const PageEdit& edit, std::uint32_t slot, const Change& change, LeafWriter& writer,
                    BoundRows& raised);

  std::vector<Rebalance> plan_rebalances(std::span<const PageEdit> edits, std::vector<PageEdit>& plain) const;
  std::optional<PageNumber> neighbour_of(PageNumber page, const std::vector<bool>& is_taken) const;
  void write_parts(std::span<Rebalance> rebalances, const Change& change);
  void cut_evenly(Rebalance& rebalance, const Change& change) const;
  void place(std::span<Rebalance> rebalances, const Change& change);
  void place_parts(Rebalance& rebalance, const Change& change);
  void set_first(PageNumber page);
  void move_ids(std::span<const Run> runs, PageNumber page, const Change& change);

  std::shared_ptr<const Snapshot> base_;  // the last published version
  std::shared_ptr<Snapshot> next_;        // that is being made; null: nothing was applied yet
  std::uint64_t rows_when_loaded_ = 0;

  IdMap ids_;
  std::vector<LeafPage> leaves_;
  std::vector<PageNumber> free_leaf_pages_;
  std::vector<std::vector<PageNumber>> partitions_;  // pages of each, in order
  std::size_t num_empty_partitions_ = 0;
  std::unique_ptr<TreeNodes> nodes_;
  std::unique_ptr<Slots> leaf_slots_;

  // These belong to the batch under way.
  std::vector<OrderKey> keys_;  // of its rows
  // [2 * num_attributes] whether a row that had the minimum, maximum has gone.
  std::vector<bool> lost_extremes_;
};

}  // namespace culmen
