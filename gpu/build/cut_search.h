// CutSearch: chooses the partitioner from a sample of the table that devices take of its chunks. The result is that of
// make_partitioner (index/build/partition_plan.h).
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/build/cuts.h"
#include "gpu/build/sort.h"
#include "gpu/cuda/buffer.h"
#include "index/build/partition_plan.h"

namespace culmen::gpu {

// Those rows of the sample that are among a device's rows of the table, in its memory. All calls throw OutOfDeviceMemory
// or CudaError.
class SamplePart {
 public:
  SamplePart(const Snapshot& snapshot, const PartitionPlan& plan, RowRange rows, cudaStream_t stream);

  // Enqueues the read of the chunk's part. Once for every chunk.
  void add(const TableChunk& chunk);

  std::uint32_t first() const { return range_.first; }  // in the sample
  const cuda::Buffer<std::byte>& values() const { return values_; }

 private:
  std::uint32_t first_from(std::uint64_t row) const;

  const Snapshot& snapshot_;
  const std::uint64_t sample_rows_;
  const cudaStream_t stream_;
  const SampleRange range_;
  cuda::Buffer<std::byte> values_;
};

class CutSearch {
 public:
  // The plan is for kd or angle partitions without a cluster. All calls throw OutOfDeviceMemory or CudaError.
  CutSearch(const Snapshot& snapshot, const PartitionPlan& plan, cudaStream_t stream);

  // Enqueues, on a stream of from_device, the copy of a part to this device.
  void take(const SamplePart& part, int from_device, int device, cudaStream_t stream);
  // When all parts have arrived; waits.
  Partitioner find();

  // Device memory for each row of the sample, that in a SamplePart included.
  static std::size_t row_bytes(const Snapshot& snapshot);

 private:
  template <typename T>
  void cut(std::size_t number);
  SampleRef ref() const;

  const Snapshot& snapshot_;
  const PartitionPlan& plan_;
  const Partitioner scale_;  // with one partition: scales the attributes
  const std::vector<PartitionLevel> levels_;
  cudaStream_t stream_;
  std::uint32_t num_rows_;  // of the sample
  std::uint32_t num_parts_ = 1;
  cuda::Buffer<double> minimum_, inverse_, cuts_;
  cuda::Buffer<Coordinate> own_coordinates_;
  cuda::Buffer<std::byte> values_;
  cuda::Buffer<std::uint64_t> partition_;
  cuda::Buffer<std::int64_t> ratio_;
  RowSort sort_;
};

}  // namespace culmen::gpu
