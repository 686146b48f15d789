// Repack: neighbouring pages of a partition whose rows are redistributed over new leaves; RepackWriter writes these and
// puts them into the tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "index/write/edited_pages.h"
#include "index/write/located_change.h"
#include "index/write/working_tree.h"

namespace culmen {

struct Repack {
  // In order, with the edit of each; that of a neighbour has no operations.
  std::vector<PageNumber> pages;
  std::vector<PageEdit> edits;

  // The new leaves, in the tree's order: those of the same partition, then those of new partitions.
  struct Part {
    std::uint32_t partition = 0;
    std::vector<Run> runs;
    std::uint32_t slot = 0;
    BoundRows rows;
  };
  std::vector<Part> parts;

  // How many pages keep their numbers: the first ones, for the first parts.
  std::size_t num_kept() const { return std::min(num_parts_of_partition(), pages.size()); }
  std::size_t num_parts_of_partition() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        parts, [&](const Part& part) { return part.partition == parts.front().partition; }));
  }
};

class RepackWriter {
 public:
  RepackWriter(WorkingTree& tree, const LocatedChange& located)
      : tree_(tree), located_(located), pages_(tree, located) {}

  // No page may be in two of them. Writes the new leaves in parallel, inserts them and updates the nodes above.
  void run(std::span<Repack> repacks);

 private:
  void write_leaves(std::span<Repack> repacks);
  void replace_kept(std::span<const Repack> repacks);
  void replace_pages(Repack& repack);
  PageNumber add_page(const Repack::Part& part, std::size_t position, PageNumber after);
  void move_ids(std::span<const Run> runs, PageNumber page);

  WorkingTree& tree_;
  const LocatedChange& located_;
  const EditedPages pages_;
};

}  // namespace culmen
