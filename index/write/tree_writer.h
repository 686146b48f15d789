// TreeWriter: applies batches to the tree and makes the versions that come of them.
//
// The tree is a B+-tree over (partition, order key, id) whose leaves are the leaves. Rows are found by id
// through the id map, and the page that a new row belongs to by bisection among the pages of its partition. A
// batch works on copies of the leaves and nodes that it changes; published versions never change
// (index/slot_arena.h). Its steps:
//
//   LocatedChange   which pages the batch changes
//   Rebalancer      cuts anew those that get too full or nearly empty
//   LeafRewriter    writes all others
//   StatsUpdate     keeps what is known of the attributes true
//
// The index is rebuilt if one batch changes at least half as many rows as it has, if many partitions have become empty,
// and once a small index (up to a million rows) has doubled, has halved, or has taken as many rows as it holds; a large
// one, once three quarters of it have gone. Partitions and units then fit the rows that are there.
#pragma once

#include <cstdint>
#include <memory>

#include "index/snapshot.h"
#include "index/write/change.h"
#include "index/write/located_change.h"
#include "index/write/working_tree.h"

namespace culmen {

class Rebalancer;
class StatsUpdate;

class TreeWriter {
 public:
  // Cost: a pass over all ids, and about 11 bytes of memory a row. Throws FormatError if an id stands in two
  // rows, which loading does not look for.
  explicit TreeWriter(std::shared_ptr<const Snapshot> base);

  // Both speak of the version that is being made.
  bool contains(std::int64_t id) const { return tree_->find(id).page != kNoPage; }
  const Snapshot& current() const { return next_ != nullptr ? *next_ : *base_; }

  // The change fits the index: what it removes is there, what it adds is not (ChangeFold finds out). Throws
  // InputError (labels of a leaf beyond 4 GiB) and std::bad_alloc: after that this writer is good for
  // nothing but to be thrown away, while all published versions stay what they are.
  void apply(const Change& change);

  // Makes the version of what was applied since the last one, if anything.
  std::shared_ptr<const Snapshot> finish_version(std::uint64_t version);

 private:
  void begin_version();
  bool wants_reload(const Change& change) const;
  bool has_worn_partitions() const;
  void reload(const Change& change);
  bool has_room_for_pages(const Change& change) const;
  bool has_room_for(const LocatedChange& located, const Rebalancer& rebalancer) const;
  void forget_removed(const LocatedChange& located, StatsUpdate& stats);

  std::shared_ptr<const Snapshot> base_;  // the last version that was made
  std::shared_ptr<Snapshot> next_;        // that is being made; null: nothing was applied yet
  std::unique_ptr<WorkingTree> tree_;
  std::uint64_t rows_when_loaded_;
  std::uint64_t rows_changed_ = 0;  // inserted since then
};

}  // namespace culmen
