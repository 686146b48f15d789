// Kernels that choose a partitioner's cuts from a sample of the table: angle partitions of index/build/partition_cuts.h on a device.
#pragma once

#include <cstdint>

#include "gpu/build/key_rule.h"

namespace culmen::gpu {

// A sample, and the parts of its rows on the current level. Pointers to device memory.
struct SampleRef {
  std::byte* values;         // [num_rows][num_attributes] as stored
  std::uint64_t* partition;  // [num_rows] numbers of the parts so far
  std::int64_t* ratio;       // [num_rows] bits of the ratio that is cut; never negative
  std::uint32_t num_rows;
  std::int32_t num_attributes;
};

// Enqueues the copy of rows [first, end) of the sample, which are in this chunk. num_rows: of the table.
template <typename T>
void launch_read_sample(const TableChunk& chunk, std::uint64_t num_rows, std::uint32_t first,
                        std::uint32_t end, const SampleRef& sample, cudaStream_t stream);

// Enqueues the computation of a level's ratios.
template <typename T>
void launch_ratios(const SampleRef& sample, const ScaleRef& scale, const PartitionLevel& level,
                   cudaStream_t stream);

// Enqueues the choice of the cuts of level `number`. `order` has the rows of its `num_parts` parts one part after the
// other, each by ascending ratio.
void launch_cuts(const SampleRef& sample, const std::uint32_t* order, const PartitionLevel& level,
                 std::uint32_t number, std::uint32_t num_parts, double* cuts, cudaStream_t stream);

// Enqueues the update of each row's part to that on this level. cuts: of the level.
template <typename T>
void launch_refine(const SampleRef& sample, const ScaleRef& scale, const PartitionLevel& level,
                   const double* cuts, cudaStream_t stream);

}  // namespace culmen::gpu
