// What happened since the server began, for /metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace culmen::serve {

class Metrics {
 public:
  // A request that has its response. `route`: a constant, of a fixed set, or the table would grow with what strangers ask.
  void count(std::string_view route, int status, double seconds);
  void count_rows(std::uint64_t scored, std::uint64_t in_index);

  std::atomic<std::size_t> connections{0};
  std::atomic<std::uint64_t> refused_connections{0};

  // In the text format of Prometheus.
  std::string text() const;

 private:
  static constexpr std::array<double, 12> kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                      0.01,   0.025,   0.05,   0.1,   0.5,    2.5};
  mutable std::mutex mutex_;
  std::map<std::pair<std::string_view, int>, std::uint64_t> requests_;
  std::array<std::uint64_t, kSeconds.size() + 1> durations_ = {};
  double total_seconds_ = 0;
  std::atomic<std::uint64_t> rows_scored_{0};
  std::atomic<std::uint64_t> rows_in_reach_{0};
};

}  // namespace culmen::serve
