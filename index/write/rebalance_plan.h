// RebalancePlan: which pages a batch repacks, and which partitions it splits. Planning changes nothing; TreeWriter
// executes the plan.
//
// An overfull page shares its rows with up to seven neighbours of its partition, and a page is added only if these are
// full as well. An underfull page is merged with such neighbours. (GTA 2019, figures 5 and 6, uses two pages. With up
// to eight, leaves stay nearly as full as after a build.) A partition that has grown far beyond the others is split.
#pragma once

#include <cstdint>
#include <vector>

#include "index/partitioner.h"
#include "index/write/located_change.h"
#include "index/write/repack.h"
#include "index/write/working_tree.h"

namespace culmen {

struct RebalancePlan {
  std::vector<PageEdit> rewrites;  // of pages that keep their position in the tree
  std::vector<Repack> repacks;    // of all other edited pages, and of neighbours; each page is in one at most
  std::vector<LateSplit> splits;  // each adds a partition, numbered from num_partitions() on
  // Partitions that are too large but could not be split far enough: they may double before the next attempt.
  std::vector<std::uint32_t> deferred;
};

RebalancePlan plan_rebalance(const WorkingTree& tree, const LocatedChange& located);

}  // namespace culmen
