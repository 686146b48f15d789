// CutSearch: a partitioner from a sample that a device takes of the table's chunks; the same as
// make_partitioner of index/build/partition_plan.h.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/build/cuts.h"
#include "gpu/build/sort.h"
#include "gpu/cuda/buffer.h"
#include "index/build/partition_plan.h"

namespace culmen::gpu {

class CutSearch {
 public:
  // The plan is one of angle partitions. Throws OutOfDeviceMemory or CudaError, as all calls.
  CutSearch(const Snapshot& snapshot, const PartitionPlan& plan, cudaStream_t stream);

  // Enqueues that the chunk's part of the sample is read; every chunk once.
  void add(const TableChunk& chunk);
  // Behind the last: waits.
  Partitioner find();

  // Device memory for a row of the sample.
  static std::size_t row_bytes(const Snapshot& snapshot);

 private:
  template <typename T>
  void cut(std::size_t level);
  SampleRef ref() const;

  const Snapshot& snapshot_;
  const PartitionPlan& plan_;
  const Partitioner scale_;  // of one partition: how attributes are scaled
  const std::vector<PartitionLevel> levels_;
  cudaStream_t stream_;
  std::uint32_t num_rows_;  // of the sample
  std::uint32_t num_parts_ = 1;
  cuda::Buffer<double> minimum_, inverse_, cuts_;
  cuda::Buffer<std::byte> values_;
  cuda::Buffer<std::uint64_t> partition_;
  cuda::Buffer<std::int64_t> ratio_;
  RowSort sort_;
};

}  // namespace culmen::gpu
