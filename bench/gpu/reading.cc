#include "bench/gpu/reading.h"

#include <algorithm>
#include <vector>

#include "bench/timing.h"
#include "gpu/cuda/buffer.h"

namespace culmen::bench {
namespace {

constexpr std::size_t kMaxCopied = std::size_t{1} << 30;
constexpr int kCopies = 11;

}  // namespace

double Reading::us(const Weights& weights) const {
  const auto num_unused = std::count(weights.begin(), weights.end(), 0.0);
  return static_cast<double>(static_cast<std::ptrdiff_t>(weights.size()) - num_unused) * column_bytes /
         bytes_per_us;
}

Reading measure_reading(DeviceMemory memory, std::size_t num_rows, int dims) {
  const bool over_bus = memory == DeviceMemory::host;
  const std::size_t table_bytes = num_rows * static_cast<std::size_t>(dims) * sizeof(float);
  const std::size_t copied = std::min(over_bus ? table_bytes : table_bytes / 2, kMaxCopied);
  const cuda::Buffer<std::byte> from(copied, over_bus ? cuda::Memory::pinned : cuda::Memory::device);
  const cuda::Buffer<std::byte> to(copied);
  const std::vector<double> times = times_us(kCopies, [&] {
    cuda::check(cudaMemcpy(to.data(), from.data(), copied, cudaMemcpyDefault));
    cuda::check(cudaDeviceSynchronize());
  });
  return {static_cast<double>(num_rows * sizeof(float)),
          static_cast<double>(over_bus ? copied : 2 * copied) / median(times)};
}

}  // namespace culmen::bench
