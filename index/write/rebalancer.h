// Rebalancer: pages that a batch makes too full or nearly empty. One that is too full is cut into even parts;
// one that is nearly empty is put together with its neighbour and cut again: a split, a merge, or rows
// borrowed (GTA 2019, figures 5 and 6).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "index/write/edited_pages.h"
#include "index/write/located_change.h"
#include "index/write/working_tree.h"

namespace culmen {

class Rebalancer {
 public:
  Rebalancer(WorkingTree& tree, const LocatedChange& located)
      : tree_(tree), located_(located), pages_(tree, located) {}

  // Takes the edits that are for it, and returns the others. run() comes once they are written: a neighbour
  // may be among their pages.
  std::vector<PageEdit> plan();
  void run();

 private:
  // Neighbouring pages, whose rows are cut into new leaves.
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

  bool is_nearly_empty(const PageEdit& edit) const;
  std::optional<PageNumber> neighbour_of(PageNumber page, const std::vector<bool>& is_taken) const;
  void add_neighbour(Rebalance& rebalance, PageNumber neighbour) const;

  void take_slots(Rebalance& rebalance);
  void write_parts();
  void cut_evenly(Rebalance& rebalance) const;

  void place_parts();
  void place(Rebalance& rebalance);
  void place_part(Rebalance& rebalance, std::size_t part, std::size_t position);
  void move_ids(std::span<const Run> runs, PageNumber page);

  WorkingTree& tree_;
  const LocatedChange& located_;
  const EditedPages pages_;
  std::vector<Rebalance> rebalances_;
};

}  // namespace culmen
