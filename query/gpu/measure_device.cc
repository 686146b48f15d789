#include <algorithm>
#include <vector>

#include "query/cuda/buffer.h"
#include "query/gpu/launch_nothing.h"
#include "query/measure_device.h"
#include "query/turns.h"

namespace culmen {
namespace {

constexpr std::size_t kBytes = 32 << 20;
constexpr double kKilobytes = kBytes / 1024.0;

}  // namespace

DeviceCosts measure_device_costs(int device) {
  const cuda::DeviceScope scope(device);
  const cuda::Stream stream;
  const cuda::Buffer<std::byte> from(kBytes), to(kBytes);
  const std::vector<std::byte> on_host(kBytes);  // as the rows of an index are: not pinned
  const auto copy = [&](const std::byte* source) {
    cuda::check(cudaMemcpyAsync(to.data(), source, kBytes, cudaMemcpyDefault, stream.get()));
    cuda::check(cudaStreamSynchronize(stream.get()));
  };
  Turns turns;
  const std::size_t launch = turns.add([&] {
    gpu::launch_nothing(stream.get());
    cuda::check(cudaStreamSynchronize(stream.get()));
  });
  const std::size_t read = turns.add([&] { copy(from.data()); });
  const std::size_t upload = turns.add([&] { copy(on_host.data()); });
  turns.run();
  DeviceCosts costs;
  costs.launch_ns = turns.ns(launch);
  costs.read_ns_per_kb = std::max(0.0, turns.ns(read) - costs.launch_ns) / (2 * kKilobytes);  // and written
  costs.copy_ns_per_kb = turns.ns(upload) / kKilobytes;
  return costs;
}

}  // namespace culmen
