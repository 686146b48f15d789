// Kernels that choose a partitioner's cuts from a sample of the table: angle partitions of index/build/partition_cuts.h on a device.
#pragma once

#include <cstdint>

#include "gpu/build/key_rule.h"

namespace culmen::gpu {

// A sample and what is known of its rows on the present level. Pointers to device memory.
struct SampleRef {
  std::byte* values;         // [num_rows][num_attributes] as they are stored
  std::uint64_t* partition;  // [num_rows] numbers of the parts so far
  std::int64_t* ratio;       // [num_rows] the bits of what is cut; never negative
  std::uint32_t num_rows;
  std::int32_t num_attributes;
};

// Enqueues that rows [first, end) of the sample, which stand in this chunk, come into it. num_rows: of the
// table.
template <typename T>
void launch_read_sample(const TableChunk& chunk, std::uint64_t num_rows, std::uint32_t first,
                        std::uint32_t end, const SampleRef& sample, cudaStream_t stream);

// Enqueues the ratios of a level.
template <typename T>
void launch_ratios(const SampleRef& sample, const ScaleRef& scale, const PartitionLevel& level,
                   cudaStream_t stream);

// Enqueues the cuts of level `number`, whose `num_parts` parts stand one after the other in `order`, each
// with its ratios ascending.
void launch_cuts(const SampleRef& sample, const std::uint32_t* order, const PartitionLevel& level,
                 std::uint32_t number, std::uint32_t num_parts, double* cuts, cudaStream_t stream);

// Enqueues that each row's part becomes the one on this level. cuts: of the level.
template <typename T>
void launch_refine(const SampleRef& sample, const ScaleRef& scale, const PartitionLevel& level,
                   const double* cuts, cudaStream_t stream);

}  // namespace culmen::gpu
