#include "gpu/cuda/write_bytes.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "gpu/cuda/buffer.h"
#include "gpu/cuda/error.h"
#include "tests/generators.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::test {
namespace {

// Of any size, enqueued one after the other; the host's bytes are overwritten at once.
TEST(WriteBytes, WritesWhatTheHostHadWhenItWasCalled) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kMaxWords = 12'000;
  const cuda::Stream stream;
  for (const std::size_t words : {0, 1, 2, 479, 480, 481, 960, 961, 10'000}) {
    Random random(words + 1);
    const cuda::Buffer<std::uint64_t> on_device(kMaxWords);
    cuda::check(cudaMemset(on_device.data(), 0, on_device.size_bytes()));
    cuda::check(cudaDeviceSynchronize());
    std::vector<std::uint64_t> expected(kMaxWords), bytes(words);
    for (std::size_t i = 0; i < words; ++i) expected[100 + i] = bytes[i] = random.next();
    cuda::write_bytes(std::as_bytes(std::span(bytes)), reinterpret_cast<std::byte*>(on_device.data() + 100),
                      stream.get());
    bytes.assign(words, ~std::uint64_t{0});
    stream.synchronize();
    std::vector<std::uint64_t> found(kMaxWords);
    cuda::check(cudaMemcpy(found.data(), on_device.data(), on_device.size_bytes(), cudaMemcpyDeviceToHost));
    EXPECT_EQ(found, expected) << words << " words";
  }
}

}  // namespace
}  // namespace culmen::test
