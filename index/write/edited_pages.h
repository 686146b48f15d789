// EditedPages: the rows of a page after the batch. Reads the tree and changes nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "index/write/leaf_writer.h"
#include "index/write/located_change.h"
#include "index/write/working_tree.h"

namespace culmen {

class EditedPages {
 public:
  EditedPages(const WorkingTree& tree, const LocatedChange& located) : tree_(tree), located_(located) {}

  std::size_t max_rows() const { return tree_.arena->shape().leaf_rows; }
  // A repack fills leaves so far and leaves room for inserts.
  std::size_t fill_rows() const { return max_rows() * 9 / 10; }
  // A leaf that erases leave with fewer rows is merged with its neighbours.
  std::size_t min_rows() const { return max_rows() * 7 / 10; }

  std::size_t num_rows(const PageEdit& edit) const;
  // The rows, in order.
  std::vector<Run> runs(const PageEdit& edit) const;

 private:
  std::vector<std::uint32_t> sorted_added(const PageEdit& edit) const;
  std::uint32_t first_row_after(std::uint32_t slot, std::uint32_t from, std::uint32_t added) const;

  const WorkingTree& tree_;
  const LocatedChange& located_;
};

}  // namespace culmen
