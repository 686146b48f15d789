// What kernels see of a partitioner.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/build/table_chunks.h"
#include "index/order_key.h"
#include "index/partition_level.h"

namespace culmen::gpu {

// Each level but the first doubles the number of partitions, at least; with num_splits there is one a
// coordinate.
inline constexpr std::size_t kMaxLevels = kMaxAttributes;
static_assert(kMaxLevels > kPartitionBits);

// How attributes are scaled, [num_attributes] each in device memory: as Partitioner has them.
struct ScaleRef {
  const double *minimum, *inverse;
};

struct KeyRule {
  PartitionLevel levels[kMaxLevels];
  ScaleRef scale;
  const double* cuts;
  const std::uint8_t* own_coordinates;  // kd: of each cut, as of partition_level.h
  std::uint64_t num_rows;
  std::uint32_t num_levels;
  std::uint32_t num_partitions;
  bool is_random;
};
static_assert(std::is_trivially_copyable_v<KeyRule>);
static_assert(sizeof(KeyRule) + sizeof(TableChunk) < 4096);  // what a kernel takes as arguments

// Enqueues the keys of a chunk's rows, whose values are stored as T: keys[num_rows] in device memory.
// counts[num_partitions], if there are any, go up by the rows of each partition. T: float or double.
template <typename T>
void launch_keys(const TableChunk& chunk, const KeyRule& rule, OrderKey* keys, std::uint64_t* counts,
                 cudaStream_t stream);

}  // namespace culmen::gpu
