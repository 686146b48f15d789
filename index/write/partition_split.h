// PartitionSplit: halves a partition that has grown far beyond the others (index/build/kd_halves.h). Each part becomes a
// partition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/partitioner.h"
#include "index/write/edited_pages.h"
#include "index/write/repack.h"

namespace culmen {

class PartitionSplit {
 public:
  // `edits`: of all pages of the partition, in order. All three must outlive this.
  PartitionSplit(const WorkingTree& tree, const LocatedChange& located, std::span<const PageEdit> edits);

  // Halves until no part has more than `max_rows` rows, and packs the parts into leaves of up to `leaf_rows`. A part
  // whose rows are too similar is not halved.
  void run(std::size_t max_rows, std::size_t leaf_rows);

  // In both, partition 0 is the one that was split; the cuts add partitions 1, 2 and so on.
  const std::vector<LateSplit>& cuts() const { return cuts_; }
  std::vector<Repack::Part> take_parts() { return std::move(parts_); }  // in the tree's order

 private:
  struct Row {
    std::uint32_t slot;  // or kOfBatch
    std::uint32_t position;
  };
  std::vector<Repack::Part> leaves_of(std::uint32_t partition, std::span<const Row> rows,
                                      std::size_t leaf_rows) const;
  double value(const Row& row, std::uint32_t column) const;
  std::int64_t id(const Row& row) const;

  const WorkingTree& tree_;
  const LocatedChange& located_;
  std::vector<Row> rows_;
  std::vector<LateSplit> cuts_;
  std::vector<Repack::Part> parts_;
};

}  // namespace culmen
