// DevicePartitioner: computes the order keys of a table's rows on a device, with the bits of Partitioner::keys.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/build/key_rule.h"
#include "gpu/build/table_chunks.h"
#include "gpu/cuda/buffer.h"
#include "index/partitioner.h"

namespace culmen::gpu {

// A partitioner's copy on the current device, for work on one stream. Throws OutOfDeviceMemory or CudaError.
class DevicePartitioner {
 public:
  // num_rows: of the table.
  DevicePartitioner(const Partitioner& partitioner, std::uint64_t num_rows, cudaStream_t stream);
  const KeyRule& rule() const { return rule_; }

 private:
  cuda::Buffer<double> minimum_, inverse_, cuts_;
  cuda::Buffer<Coordinate> own_coordinates_;
  KeyRule rule_ = {};
};

}  // namespace culmen::gpu
