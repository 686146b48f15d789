// Repack: neighbouring pages whose rows are cut into new leaves, as many as there have to be.
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
  // Of one partition, in order, with the edit of each; a page without one has nothing but its number there.
  std::vector<PageNumber> pages;
  std::vector<PageEdit> edits;

  // What takes their place, in the tree's order: leaves of the same partition, then those of partitions that are new.
  struct Part {
    std::uint32_t partition = 0;
    std::vector<Run> runs;
    std::uint32_t slot = 0;
    BoundRows rows;
  };
  std::vector<Part> parts;

  std::size_t num_parts_of_partition() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        parts, [&](const Part& part) { return part.partition == parts.front().partition; }));
  }
};

class RepackWriter {
 public:
  RepackWriter(WorkingTree& tree, const LocatedChange& located)
      : tree_(tree), located_(located), pages_(tree, located) {}

  // No page is in two of them. Writes the new leaves, in parallel, puts them into the tree, and tells the nodes above.
  void carry_out(std::span<Repack> repacks);

 private:
  void write_leaves(std::span<Repack> repacks);
  void place(Repack& repack);
  PageNumber add_page(const Repack::Part& part, std::size_t position, PageNumber after);
  void move_ids(std::span<const Run> runs, PageNumber page);

  WorkingTree& tree_;
  const LocatedChange& located_;
  const EditedPages pages_;
};

}  // namespace culmen
