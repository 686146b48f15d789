// The clock of the benchmarks, and statistics of its readings.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace culmen::bench {

inline double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Microseconds of each of `repeats` calls of `call`, after one that does not count. `prepare` is called
// before each of them; the clock does not run then.
template <typename Call, typename Prepare>
std::vector<double> times_us(int repeats, const Call& call, const Prepare& prepare) {
  std::vector<double> times;
  for (int run = 0; run <= repeats; ++run) {
    prepare();
    const double start = now_us();
    call();
    if (run > 0) times.push_back(now_us() - start);
  }
  return times;
}

template <typename Call>
std::vector<double> times_us(int repeats, const Call& call) {
  return times_us(repeats, call, [] {});
}

// The p-quantile, 0 <= p <= 1, of values that are not empty.
inline double quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(p * static_cast<double>(values.size())))];
}

inline double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

}  // namespace culmen::bench
