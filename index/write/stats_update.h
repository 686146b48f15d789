// StatsUpdate: keeps the minima and maxima of the attributes exact, their quanta valid, and all bounds valid once sums
// can round. Missing values count only for the last.
#pragma once

#include <cstdint>
#include <vector>

#include "index/write/batch_rows.h"
#include "index/write/working_tree.h"

namespace culmen {

class StatsUpdate {
 public:
  explicit StatsUpdate(WorkingTree& tree) : tree_(tree), lost_(tree.next->attributes.size()) {}

  // Call in this order: first; for each erased row while its leaf can still be read; once the tree has all changes.
  void add_rows(const BatchRows& rows);
  void note_removed_row(std::uint32_t slot, std::uint32_t position);
  void find_lost_extremes();

 private:
  // True if a row with that extreme value was erased.
  struct Lost {
    bool minimum = false, maximum = false;
  };
  bool sums_stay_exact(const BatchRows& rows) const;
  void loosen_all_bounds();

  WorkingTree& tree_;
  std::vector<Lost> lost_;  // [num_attributes]
};

}  // namespace culmen
