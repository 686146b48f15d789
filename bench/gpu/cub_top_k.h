// cub::DeviceTopK, which CCCL has from 3.2 on: that of a newer toolkit, or of the folder CULMEN_CCCL (CMake).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda/buffer.h"

namespace culmen::bench {

class CubTopK {
 public:
  // Enqueues the selection of the k best keys, in any order, ties by chance. False, and nothing is done: this
  // CCCL has none.
  bool operator()(const float* keys, std::uint32_t num_rows, std::uint32_t k, cudaStream_t stream);

  // [k] on the card.
  const float* keys() const { return keys_.data(); }
  const std::uint32_t* rows() const { return rows_.data(); }

 private:
  cuda::Buffer<float> keys_;
  cuda::Buffer<std::uint32_t> rows_;
  cuda::Buffer<std::byte> scratch_;
};

}  // namespace culmen::bench
