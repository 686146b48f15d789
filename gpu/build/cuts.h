// Kernels that choose a partitioner's cuts from a sample of the table: index/build/partition_cuts.h on a device.
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

// Rows [first, end) of a sample.
struct SampleRange {
  std::uint32_t first, end;
};

// Enqueues the copy of the rows of the sample that are in this chunk to values[num_rows][num_attributes], which begin with row
// `base` of the sample. sample_rows, table_rows: of the whole sample and table.
template <typename T>
void launch_read_sample(const TableChunk& chunk, SampleRange rows, std::uint64_t sample_rows,
                        std::uint64_t table_rows, std::uint32_t base, std::byte* values, cudaStream_t stream);

// A level of the partitioner, and its arrays in device memory.
struct LevelRef {
  PartitionLevel level;
  std::uint32_t number;
  std::uint32_t num_parts;      // before
  double* cuts;                 // of the level
  Coordinate* own_coordinates;  // of each cut, where the level has kOwnCoordinate
};

// Enqueues the choice of the level's own coordinates. `order` has the rows of its parts one part after the other, each in
// the order of the sample.
template <typename T>
void launch_own_coordinates(const SampleRef& sample, const ScaleRef& scale, const std::uint32_t* order,
                            const LevelRef& level, cudaStream_t stream);

// Enqueues the computation of the level's ratios.
template <typename T>
void launch_ratios(const SampleRef& sample, const ScaleRef& scale, const LevelRef& level,
                   cudaStream_t stream);

// Enqueues the choice of the level's cuts. `order` has the rows of its parts one part after the other, each by ascending
// ratio.
void launch_cuts(const SampleRef& sample, const std::uint32_t* order, const LevelRef& level,
                 cudaStream_t stream);

// Enqueues the update of each row's part to that on this level.
template <typename T>
void launch_refine(const SampleRef& sample, const ScaleRef& scale, const LevelRef& level,
                   cudaStream_t stream);

}  // namespace culmen::gpu
