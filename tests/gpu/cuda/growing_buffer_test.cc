// A buffer that grows in place: its address and its contents stay, and it grows up to what it reserved.
#include "gpu/cuda/growing_buffer.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "gpu/cuda/error.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::test {
namespace {

TEST(GrowingBuffer, KeepsItsAddressAndItsContents) {
  SKIP_WITHOUT_GPU();
  {
    cuda::GrowingBuffer buffer(1000, std::size_t{1} << 30, cuda::Memory::device);
    if (buffer.size() == 1000) GTEST_SKIP() << "this device cannot reserve addresses";
    const std::byte* data = buffer.data();
    const std::vector<std::byte> written(1000, std::byte{7});
    cuda::check(cudaMemcpy(buffer.data(), written.data(), written.size(), cudaMemcpyDefault));
    for (const std::size_t size : {2u << 20, 3u << 20, 100u << 20}) {
      ASSERT_TRUE(buffer.grow(size));
      EXPECT_GE(buffer.size(), size);
      EXPECT_EQ(buffer.data(), data);
      cuda::check(cudaMemset(buffer.data() + size - 1000, 1, 1000));
    }
    std::vector<std::byte> read(written.size());
    cuda::check(cudaMemcpy(read.data(), buffer.data(), read.size(), cudaMemcpyDefault));
    EXPECT_EQ(read, written);
    EXPECT_FALSE(buffer.grow(std::size_t{1} << 31));
    EXPECT_TRUE(buffer.grow(std::size_t{1} << 20));  // already that large
  }
  EXPECT_EQ(cuda::num_allocations(), 0);
}

TEST(GrowingBuffer, OfPinnedMemoryDoesNotGrow) {
  SKIP_WITHOUT_GPU();
  cuda::GrowingBuffer buffer(1000, 5000, cuda::Memory::pinned);
  EXPECT_TRUE(buffer.grow(1000));
  EXPECT_FALSE(buffer.grow(1001));
  EXPECT_EQ(buffer.size(), 1000u);
}

}  // namespace
}  // namespace culmen::test
