#include "bench/gpu/cub_top_k.h"

#if __has_include(<cub/device/device_topk.cuh>)
#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_topk.cuh>
#define CULMEN_HAS_CUB_TOP_K
#endif

namespace culmen::bench {

#ifdef CULMEN_HAS_CUB_TOP_K
bool CubTopK::operator()(const float* keys, std::uint32_t num_rows, std::uint32_t k, cudaStream_t stream) {
  const auto any_order = ::cuda::execution::require(::cuda::execution::determinism::not_guaranteed,
                                                    ::cuda::execution::output_ordering::unsorted);
  const auto environment = ::cuda::std::execution::env{::cuda::stream_ref{stream}, any_order};
  cuda::grow(keys_, k, cuda::Memory::device);
  cuda::grow(rows_, k, cuda::Memory::device);
  std::size_t num_bytes = 0;
  const auto call = [&](void* scratch) {
    cuda::check(cub::DeviceTopK::MaxPairs(scratch, num_bytes, keys, keys_.data(),
                                          thrust::counting_iterator<std::uint32_t>(0), rows_.data(), num_rows,
                                          k, environment));
  };
  call(nullptr);
  cuda::grow(scratch_, num_bytes, cuda::Memory::device);
  call(scratch_.data());
  return true;
}
#else
bool CubTopK::operator()(const float*, std::uint32_t, std::uint32_t, cudaStream_t) {
  return false;
}
#endif

}  // namespace culmen::bench
