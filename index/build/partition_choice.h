// Compares partitions of a sample by the leaves that questions would read, and takes the best: no kind of partition is the
// best for all tables (docs/decisions/0038-partitions-by-measuring.md). Counts only, never time, and weights that are always
// the same: so the choice does not depend on the machine or its threads.
#pragma once

#include <cstdint>
#include <span>

#include "index/bound_layout.h"
#include "index/partitioner.h"

namespace culmen {

struct PartitionStyle {
  Partitioning kind;  // kd or angle
  bool has_shells;    // if there are enough partitions
  RowOrder row_order;

  friend bool operator==(const PartitionStyle&, const PartitionStyle&) = default;
};

// The sampled rows by which partitions are compared; 0: the table is too small, or its leaves are too large.
std::uint64_t rows_to_compare(std::uint64_t num_rows, int num_attributes, int leaf_rows);

// `usual`, unless others are clearly better. From 2 to 64 attributes. ranges: scaled to 0..1. All threads of the caller's
// arena.
PartitionStyle choose_style(const BoundLayout& layout, std::span<const AttributeStats> ranges,
                            std::uint64_t leaf_rows, std::uint64_t leaves_per_partition,
                            const PartitionStyle& usual, const RowChunk& sample);

}  // namespace culmen
