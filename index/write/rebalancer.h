// Rebalancer: which pages of a batch are cut anew. Pages that get too full share with those beside them, and get one more
// only where these are full, too; nearly empty ones do with fewer (GTA 2019, figures 5 and 6, where two pages take part:
// with up to eight, leaves stay nearly as full as a build leaves them). A partition that has grown far beyond the others
// is split.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/write/edited_pages.h"
#include "index/write/located_change.h"
#include "index/write/partition_split.h"
#include "index/write/repack.h"
#include "index/write/working_tree.h"

namespace culmen {

class Rebalancer {
 public:
  // Changes nothing yet.
  Rebalancer(WorkingTree& tree, const LocatedChange& located);

  const std::vector<PageEdit>& others() const { return others_; }  // of pages that only get a new leaf
  const std::vector<Repack>& repacks() const { return repacks_; }
  // Once the others are written.
  void run();

 private:
  // The edits of one partition, in the order of its pages.
  struct Group {
    std::uint32_t partition = 0;
    std::vector<std::size_t> positions;
    std::vector<PageEdit> edits;
  };
  // Pages [first, end) of a partition, and the rows that they are to hold.
  struct Window {
    std::size_t first, end, num_rows;
  };
  struct Plan {
    std::vector<Repack> repacks;
    std::vector<PageEdit> others;
    std::vector<LateSplit> cuts;  // of a split, numbered as by PartitionSplit; its parts are the only repack
    bool cannot_split = false;    // the rows of the partition are too much alike
  };

  std::vector<Group> groups() const;
  bool is_overgrown(const Group& group) const;
  bool split(const Group& group, Plan& plan) const;
  void plan_windows(const Group& group, Plan& plan) const;
  Window window_at(const Group& group, std::size_t edit, std::size_t first_free) const;
  Repack repack_of(const Group& group, const Window& window) const;
  std::size_t rows_at(const Group& group, std::size_t position) const;
  PageEdit edit_at(const Group& group, std::size_t position) const;
  std::size_t parts_for(std::size_t num_rows) const;
  void number_new_partitions(Plan& plan);

  WorkingTree& tree_;
  const LocatedChange& located_;
  const EditedPages pages_;
  std::size_t most_pages_;  // of a partition
  std::vector<PageEdit> others_;
  std::vector<Repack> repacks_;
  std::vector<LateSplit> cuts_;
  std::vector<std::uint32_t> split_;  // partitions, those that are new among them
  std::vector<std::uint32_t> alike_;  // partitions that could not be split
};

}  // namespace culmen
