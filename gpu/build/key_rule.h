// A partitioner as kernels read it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/build/table_chunks.h"
#include "index/order_key.h"
#include "index/partition_level.h"

namespace culmen::gpu {

// Each level but the first at least doubles the number of partitions; with num_splits there is a level for each
// coordinate.
inline constexpr std::size_t kMaxLevels = kMaxGroupedAttributes;
static_assert(kMaxLevels > kPartitionBits);

// How attributes are scaled, as in Partitioner: [num_attributes] each, in device memory.
struct ScaleRef {
  const double *minimum, *inverse;
};

struct KeyRule {
  PartitionLevel levels[kMaxLevels];
  ScaleRef scale;
  const double* cuts;
  const Coordinate* own_coordinates;  // kd: of each cut, as in partition_level.h
  std::uint64_t num_rows;
  std::uint32_t num_levels;
  std::uint32_t num_partitions;
  bool is_random;
  bool is_by_sum;  // RowOrder::sum
};
static_assert(std::is_trivially_copyable_v<KeyRule>);
static_assert(sizeof(KeyRule) + sizeof(TableChunk) < 4096);  // the limit of a kernel's arguments

// Enqueues the computation of keys[num_rows] for a chunk's rows, whose values are stored as T, float or double. Adds
// the rows of each partition to counts[num_partitions], unless that is null. Both are device memory.
template <typename T>
void launch_keys(const TableChunk& chunk, const KeyRule& rule, OrderKey* keys, std::uint64_t* counts,
                 cudaStream_t stream);

}  // namespace culmen::gpu
