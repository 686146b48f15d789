// The speed of memory, with which answers are compared.
#pragma once

#include <benchmark/benchmark.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/timing.h"

namespace culmen::bench {

// Microseconds to read so many float32 values with all threads of the arena; best of a few.
inline double read_memory_us(std::size_t num_values) {
  const std::vector<float> values(num_values, 1.0f);
  const auto* words = reinterpret_cast<const std::uint64_t*>(values.data());
  const std::vector<double> times = times_us(6, [&] {
    benchmark::DoNotOptimize(tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, values.size() / 2, 1 << 17), std::uint64_t{0},
        [words](const tbb::blocked_range<std::size_t>& range, std::uint64_t sum) {
          for (std::size_t i = range.begin(); i < range.end(); ++i) sum += words[i];
          return sum;
        },
        std::plus<>()));
  });
  return *std::min_element(times.begin(), times.end());
}

}  // namespace culmen::bench
