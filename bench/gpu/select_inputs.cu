#include "bench/gpu/select_inputs.h"

#include <cub/device/device_reduce.cuh>
#include <string>

#include "culmen/error.h"
#include "gpu/cuda/launch.h"

namespace culmen::bench {
namespace {

constexpr unsigned kThreads = 256;

__device__ std::uint32_t hash_of(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

__global__ void fill(int input, std::uint32_t num_rows, float* keys) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= num_rows) return;
  const std::uint32_t hash = hash_of(i);
  const float unit = static_cast<float>(hash >> 8) * 0x1p-24f;
  const std::uint32_t place = input == 1 ? i : num_rows - 1 - i;
  switch (input) {
    case 0:
      keys[i] = unit;
      break;
    case 1:
    case 2:
      keys[i] = __uint_as_float(0x3f000000u + place / 64);
      break;
    case 3:
      keys[i] = 0.5f;
      break;
    default:
      keys[i] = __uint_as_float(0x3f7f7f7fu ^ (1u << (hash % 30)));
  }
}

}  // namespace

cuda::Buffer<float> make_input(std::string_view name, std::uint32_t num_rows) {
  int input = 0;
  while (input < static_cast<int>(std::size(kInputNames)) && kInputNames[input] != name) ++input;
  if (input == static_cast<int>(std::size(kInputNames)))
    throw InvalidArgument("no input " + std::string(name));
  cuda::Buffer<float> keys(num_rows);
  cuda::launch(fill, {.num_blocks = (num_rows - 1) / kThreads + 1, .num_threads = kThreads}, nullptr, input,
               num_rows, keys.data());
  cuda::check(cudaDeviceSynchronize());
  return keys;
}

ReadOnce::ReadOnce(std::uint32_t num_rows) : num_rows_(num_rows), largest_(1) {
  std::size_t num_bytes = 0;
  const float* no_keys = nullptr;
  cuda::check(cub::DeviceReduce::Max(nullptr, num_bytes, no_keys, largest_.data(), num_rows_));
  scratch_ = cuda::Buffer<std::byte>(num_bytes);
}

void ReadOnce::operator()(const float* keys, cudaStream_t stream) {
  std::size_t num_bytes = scratch_.size();
  cuda::check(cub::DeviceReduce::Max(scratch_.data(), num_bytes, keys, largest_.data(), num_rows_, stream));
}

}  // namespace culmen::bench
