// Times of work on the card, by its clock.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "gpu/cuda/error.h"

namespace culmen::bench {

// Microseconds on the card of each of `repeats` calls, after some that do not count: after other work the card's clock
// rate takes a few milliseconds to settle.
template <typename Call>
std::vector<double> card_times_us(int repeats, cudaStream_t stream, const Call& call) {
  cudaEvent_t start = nullptr, end = nullptr;
  cuda::check(cudaEventCreate(&start));
  cuda::check(cudaEventCreate(&end));
  std::vector<double> times;
  double warm_us = 30'000;
  while (times.size() < static_cast<std::size_t>(repeats)) {
    cuda::check(cudaEventRecord(start, stream));
    call();
    cuda::check(cudaEventRecord(end, stream));
    cuda::check(cudaEventSynchronize(end));
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, start, end));
    if (warm_us < 0) times.push_back(1000.0 * milliseconds);
    warm_us -= 1000.0 * milliseconds;
  }
  cuda::check(cudaEventDestroy(start));
  cuda::check(cudaEventDestroy(end));
  return times;
}

}  // namespace culmen::bench
