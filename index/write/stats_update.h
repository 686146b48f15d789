// StatsUpdate: minima, maxima and quanta of the attributes, and the error bound of all bounds, follow a batch.
#pragma once

#include <cstdint>
#include <vector>

#include "index/write/change.h"
#include "index/write/working_tree.h"

namespace culmen {

class StatsUpdate {
 public:
  explicit StatsUpdate(WorkingTree& tree) : tree_(tree), lost_(tree.next->attributes.size()) {}

  // In this order: the rows that come; each row that goes, while it is there; when the tree has all changes.
  void add_rows(const Change& change);
  void note_removed_row(std::uint32_t slot, std::uint32_t position);
  void find_lost_extremes();

 private:
  // Whether a row that had it has gone.
  struct Lost {
    bool minimum = false, maximum = false;
  };
  void loosen_all_bounds();

  WorkingTree& tree_;
  std::vector<Lost> lost_;  // [num_attributes]
};

}  // namespace culmen
