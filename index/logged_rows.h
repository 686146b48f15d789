// LoggedRows: what a log has changed, beside the tree of the snapshot that it follows. A reader that reads on touch has such
// versions: to change the tree by a long log, or even to widen the bounds of its nodes, it would have to read most of it.
//
// A version with LoggedRows has no tree of its own (Snapshot::arena is null). Its rows are those of `base` whose ids were not
// erased, and all of `rows`; searches rank both together (api/logged_view.h), and whoever needs one tree makes one
// (index/write/log_beside.h). Bounds of the base hold for fewer rows as well.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "index/snapshot.h"

namespace culmen {

struct LoggedRows {
  std::shared_ptr<const Snapshot> base;  // of the files
  std::shared_ptr<const Snapshot>
      rows;                          // those that the log has added, as an index of their own; may have none
  std::vector<std::int64_t> erased;  // ids of rows of `base` that are gone, ascending
  bool is_arranged = false;          // `rows` has the partitions and bounds of a build

  // The same version arranged, once searches have asked for it often enough (for_searches).
  mutable std::mutex arranged_mutex;
  mutable std::shared_ptr<const Snapshot> arranged;
  mutable std::atomic<std::uint64_t> num_searches = 0;

  // Rows of the base keep their numbers, the others follow.
  std::uint64_t first_row_beside() const {
    return base->leaf_slots * static_cast<std::uint64_t>(base->leaf_rows);
  }
};

// The tree of a version that has one, else of its base.
inline const Snapshot& base_tree_of(const Snapshot& version) {
  return version.logged == nullptr ? version : *version.logged->base;
}

// Where a row of a version is, which may be one with LoggedRows.
struct RowPlace {
  const Snapshot& tree;
  std::uint64_t row;
};

inline RowPlace place_of(const Snapshot& version, std::uint64_t row) {
  if (version.logged == nullptr) return {version, row};
  const std::uint64_t first = version.logged->first_row_beside();
  if (row < first) return {*version.logged->base, row};
  return {*version.logged->rows, row - first};
}

}  // namespace culmen
