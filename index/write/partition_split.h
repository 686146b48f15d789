// PartitionSplit: what becomes of a partition that has grown far beyond the others: k-d halves of it, each a partition of
// its own, as a fresh build would have cut them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "index/partitioner.h"
#include "index/write/edited_pages.h"
#include "index/write/repack.h"

namespace culmen {

class PartitionSplit {
 public:
  // `edits`: of all pages of the partition, in order. They, too, outlive this.
  PartitionSplit(const WorkingTree& tree, const LocatedChange& located, std::span<const PageEdit> edits);

  // Halves until no part has more than `most_rows` rows, and cuts the parts into leaves of up to `leaf_rows`. What cannot
  // be halved, for its rows are too much alike, stays as it is.
  void run(std::size_t most_rows, std::size_t leaf_rows);

  // In both, partition 0 is the one that was split, the others are those that the cuts make, from 1 on.
  const std::vector<LateSplit>& cuts() const { return cuts_; }
  std::vector<Repack::Part> take_parts() { return std::move(parts_); }  // in the tree's order

 private:
  struct Row {
    std::uint32_t slot;  // or kOfBatch
    std::uint32_t position;
  };
  struct Half {
    std::uint32_t partition;
    std::span<Row> rows;
  };
  void halve(const Half& part, std::size_t most_rows, int depth);
  std::optional<LateSplit> find_cut(std::span<const Row> rows) const;
  std::vector<Repack::Part> leaves_of(const Half& part, std::size_t leaf_rows) const;
  double value(const Row& row, std::size_t attribute) const;
  std::int64_t id(const Row& row) const;

  const WorkingTree& tree_;
  const LocatedChange& located_;
  std::vector<Row> rows_;
  std::vector<LateSplit> cuts_;
  std::vector<Half> halves_;  // in the tree's order
  std::vector<Repack::Part> parts_;
};

}  // namespace culmen
