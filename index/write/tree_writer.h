// TreeWriter: applies batches to the tree and makes versions of it.
//
// The tree is a B+-tree over (partition, order key, id). PagesOfIds finds the page of a row, and binary search in the
// pages of its partition finds the page for a new one. A batch works on copies of the leaves and nodes that it changes;
// published versions never change (index/slot_arena.h). Its steps:
//
//   BatchRows       puts stand-ins where values are missing, and codes for texts
//   StatsUpdate     extends the attributes' ranges to the inserted rows
//   LocatedChange   finds the page of each row that is erased or inserted
//   RebalancePlan   decides which pages to repack and which partitions to split
//   LeafRewriter    writes the other edited pages
//   RepackWriter    writes the repacked pages, and inserts and removes pages
//   StatsUpdate     recomputes the minima and maxima that erased rows had
//
// The tree is reloaded from all rows if one batch changes at least half as many rows as there are, if many partitions
// have become empty, once a small index (up to a million rows) has doubled, has halved or has inserted as many rows as
// it holds, and once three quarters of a large one are erased. Partitions and units then fit the present rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "index/snapshot.h"
#include "index/write/change.h"
#include "index/write/located_change.h"
#include "index/write/version_writer.h"
#include "index/write/working_tree.h"

namespace culmen {

struct RebalancePlan;
class StatsUpdate;

class TreeWriter final : public VersionWriter {
 public:
  // Of a version in memory: a pass over all ids, and about 11 bytes of memory per row. Throws FormatError if two rows have
  // the same id, which loading does not check. Of a version that is read on touch: some bytes per leaf. Each change then
  // reads what it needs, until so much was changed that reading the rest at once costs less.
  explicit TreeWriter(std::shared_ptr<const Snapshot> base);

  const Snapshot& current() const override { return next_ != nullptr ? *next_ : *base_; }
  bool is_version_complete() const override { return next_ == nullptr; }
  bool contains(std::int64_t id) const override { return tree_->find(id).page != kNoPage; }
  std::vector<std::uint8_t> contain(std::span<const std::int64_t> ids) const override;
  std::vector<std::uint64_t> find_rows(std::span<const std::int64_t> ids) const override;
  RowPlace place(std::uint64_t row) const override { return {current(), row}; }
  const OrderedIds& ordered_ids() const override;
  TextPlace find_text(std::string_view text) const override;
  std::vector<std::int64_t> passing_ids(const Filter& where) const override;
  void apply(const Change& change) override;
  std::shared_ptr<const Snapshot> finish_version(std::uint64_t version) override;

  // Of the rows of the version that is being made, in no order.
  std::vector<std::int64_t> all_ids() const;

 private:
  std::uint64_t row_at(const WorkingTree::RowPosition& position) const;
  void apply_to_tree(const Change& change);
  void begin_version(const Change& change);
  bool wants_whole(const Change& change) const;
  bool wants_reload(const Change& change) const;
  bool has_worn_partitions() const;
  void reload(const Change& change);
  bool has_room_for_pages(const Change& change) const;
  bool has_room_for(const LocatedChange& located, const RebalancePlan& plan) const;
  void know_parents(const RebalancePlan& plan);
  void erase_ids(const LocatedChange& located, StatsUpdate& stats);
  void rebalance(const LocatedChange& located, RebalancePlan& plan);

  std::shared_ptr<const Snapshot> base_;  // the last completed version
  std::shared_ptr<Snapshot> next_;        // the version that is being made; null: no change since base_
  std::unique_ptr<WorkingTree> tree_;
  mutable std::optional<OrderedIds> ordered_ids_;
  std::uint64_t rows_when_loaded_;
  std::uint64_t rows_inserted_ = 0;  // since then
  std::uint64_t rows_changed_ = 0;   // of a tree that is read on touch
};

}  // namespace culmen
