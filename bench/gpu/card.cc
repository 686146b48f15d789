#include "bench/gpu/card.h"

#include <cuda_runtime_api.h>

#include <cstdio>

namespace culmen::bench {
namespace {

cudaDeviceProp properties() {
  cudaDeviceProp card = {};
  cuda::check(cudaGetDeviceProperties(&card, 0));
  return card;
}

}  // namespace

void print_card() {
  const cudaDeviceProp card = properties();
  int driver = 0, runtime = 0;
  cuda::check(cudaDriverGetVersion(&driver));
  cuda::check(cudaRuntimeGetVersion(&runtime));
  std::printf("%s, %d multiprocessors, %.1f GB, L2 %.0f MB, CUDA driver %d, runtime %d, compiler %s\n",
              card.name, card.multiProcessorCount, static_cast<double>(card.totalGlobalMem) * 1e-9,
              card.l2CacheSize * 1e-6, driver, runtime, __VERSION__);
}

CacheFlush::CacheFlush() : memory_(2 * static_cast<std::size_t>(properties().l2CacheSize)) {}

void CacheFlush::operator()() const {
  cuda::check(cudaMemsetAsync(memory_.data(), 0, memory_.size_bytes()));
  cuda::check(cudaDeviceSynchronize());
}

}  // namespace culmen::bench
