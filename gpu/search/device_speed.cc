#include "gpu/search/device_speed.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "gpu/cuda/buffer.h"
#include "gpu/search/launch_nothing.h"

namespace culmen::gpu {
namespace {

constexpr std::size_t kBytes = 32 << 20;
constexpr double kKilobytes = kBytes / 1024.0;

// The fastest of some runs, after a warm-up.
double quickest_ns(const auto& work) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRuns = 5;
  double ns = std::numeric_limits<double>::infinity();
  work();
  for (int run = 0; run < kRuns; ++run) {
    const Clock::time_point start = Clock::now();
    work();
    ns = std::min(ns, std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return ns;
}

}  // namespace

DeviceSpeed measure_device_speed(int device) {
  const cuda::DeviceScope scope(device);
  const cuda::Stream stream;
  const cuda::Buffer<std::byte> from(kBytes), to(kBytes);
  const std::vector<std::byte> on_host(kBytes);  // not pinned, as the rows of an index
  const auto copy_ns = [&](const std::byte* source) {
    return quickest_ns([&] {
      cuda::check(cudaMemcpyAsync(to.data(), source, kBytes, cudaMemcpyDefault, stream.get()));
      cuda::check(cudaStreamSynchronize(stream.get()));
    });
  };
  DeviceSpeed speed;
  speed.launch_ns = quickest_ns([&] {
    launch_nothing(stream.get());
    cuda::check(cudaStreamSynchronize(stream.get()));
  });
  // Read, and written.
  speed.read_ns_per_kb = std::max(0.0, copy_ns(from.data()) - speed.launch_ns) / (2 * kKilobytes);
  speed.copy_ns_per_kb = copy_ns(on_host.data()) / kKilobytes;
  return speed;
}

int roomiest_device() {
  cuda::require_device(0);
  int roomiest = 0;
  std::size_t most = 0;
  for (int device = 0; device < cuda::num_devices(); ++device) {
    const cuda::DeviceScope scope(device);
    if (const std::size_t room = cuda::free_device_bytes(); room > most) {
      most = room;
      roomiest = device;
    }
  }
  return roomiest;
}

}  // namespace culmen::gpu
