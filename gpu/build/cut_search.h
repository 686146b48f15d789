// CutSearch: chooses the partitioner from a sample that a device takes of the table's chunks. The result is that of
// make_partitioner (index/build/partition_plan.h).
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
  // The plan is for angle partitions. All calls throw OutOfDeviceMemory or CudaError.
  CutSearch(const Snapshot& snapshot, const PartitionPlan& plan, cudaStream_t stream);

  // Enqueues the read of the chunk's part of the sample. Once for every chunk.
  void add(const TableChunk& chunk);
  // After the last chunk; waits.
  Partitioner find();

  // Device memory for each row of the sample.
  static std::size_t row_bytes(const Snapshot& snapshot);

 private:
  template <typename T>
  void cut(std::size_t level);
  SampleRef ref() const;

  const Snapshot& snapshot_;
  const PartitionPlan& plan_;
  const Partitioner scale_;  // with one partition: scales the attributes
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
