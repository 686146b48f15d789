// Keys for gpu_select, made on the card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gpu/cuda/buffer.h"
#include "select/rank.h"

namespace culmen::bench {

// uniform; ascending, descending; equal; digits: keys that differ from all others in one bit, each time of
// another digit of 8 bits, so that passes of radix select leave much.
inline constexpr std::string_view kInputNames[] = {"uniform", "ascending", "descending", "equal", "digits"};

// float32 keys. Throws InvalidArgument for an unknown name.
cuda::Buffer<float> make_input(std::string_view name, std::uint32_t num_rows);

// Reads all keys once and keeps nothing but their largest: what every selection has to do at least. Enqueued.
class ReadOnce {
 public:
  explicit ReadOnce(std::uint32_t num_rows);
  void operator()(const float* keys, cudaStream_t stream);

 private:
  std::uint32_t num_rows_;
  cuda::Buffer<float> largest_;
  cuda::Buffer<std::byte> scratch_;
};

}  // namespace culmen::bench
