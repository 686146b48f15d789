#include "gpu/build/keys.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "gpu/build/transfer.h"

namespace culmen::gpu {
DevicePartitioner::DevicePartitioner(const Partitioner& partitioner, std::uint64_t num_rows,
                                     cudaStream_t stream)
    : minimum_(send(partitioner.minimum(), stream)),
      inverse_(send(partitioner.inverse(), stream)),
      cuts_(send(partitioner.cuts(), stream)),
      own_coordinates_(send(partitioner.own_coordinates(), stream)) {
  const std::vector<PartitionLevel> levels = partitioner.levels();
  CULMEN_ASSERT(levels.size() <= kMaxLevels);
  std::copy(levels.begin(), levels.end(), rule_.levels);
  rule_.num_levels = static_cast<std::uint32_t>(levels.size());
  rule_.scale = {minimum_.data(), inverse_.data()};
  rule_.cuts = cuts_.data();
  rule_.own_coordinates = own_coordinates_.data();
  rule_.num_partitions = partitioner.num_partitions();
  rule_.is_random = partitioner.kind() == Partitioning::random;
  rule_.is_by_sum = partitioner.row_order() == RowOrder::sum;
  rule_.num_rows = num_rows;
}

}  // namespace culmen::gpu
