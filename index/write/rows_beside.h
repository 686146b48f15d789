// RowsBeside: what changes have made of an index whose tree stays as it is (index/logged_rows.h): the rows that they have added, as
// an index of their own, and the ids of the rows of the tree that are gone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "index/logged_rows.h"
#include "index/snapshot.h"
#include "index/write/change.h"
#include "index/write/tree_writer.h"

namespace culmen {

// A version that has these rows beside its tree.
std::shared_ptr<Snapshot> logged_version(const IndexMetadata& metadata, std::shared_ptr<LoggedRows> logged);

// No rows of an index, for changes to begin with.
std::shared_ptr<LoggedRows> nothing_beside(std::shared_ptr<const Snapshot> base);

// The same rows in partitions as of a build, for changes and for searches of which there are many.
std::shared_ptr<LoggedRows> arranged(const LoggedRows& logged);

class RowsBeside {
 public:
  // Goes on from these. Cost: that of a build of the rows, unless they are arranged, and a pass over their ids.
  explicit RowsBeside(const LoggedRows& logged);

  const Snapshot& base() const { return *base_; }
  // All rows that were added, and where they are by their ids.
  const TreeWriter& rows() const { return *rows_; }
  const std::vector<std::int64_t>& erased() const { return erased_; }
  bool has_erased(std::int64_t id) const;

  // The change is believed: that an id that it removes is in the tree or beside it, and one that it adds in neither. Throws
  // FormatError if what is beside the tree shows otherwise. After an error this may only be destroyed.
  void apply(const Change& change);

  // What all changes have come to.
  std::shared_ptr<LoggedRows> finish();

 private:
  Change part_of_rows(const Change& change);
  void erase_from_base(const std::vector<std::int64_t>& ids);

  const std::shared_ptr<const Snapshot> base_;
  std::unique_ptr<TreeWriter> rows_;
  std::vector<std::int64_t> erased_;  // ascending
};

}  // namespace culmen
