// LoadBalance: what each device of a group gets to do. Devices are counted from 0; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culmen::gpu {

class LoadBalance {
 public:
  explicit LoadBalance(std::size_t num_devices)
      : speeds_(num_devices, 1.0 / static_cast<double>(num_devices)) {}

  // Queries of a batch for each of these devices, by their speeds. Few queries go to the fastest devices only: a device
  // gets none, or about kLeastShare and more.
  std::vector<std::size_t> divide(std::size_t num_queries, std::span<const std::size_t> devices) const;

  // What one device did of a batch.
  struct Part {
    std::size_t device = 0;
    std::size_t num_queries = 0;
    double seconds = 0;
  };
  // Learns from a batch. Its parts are compared with each other only, because batches differ in what a query costs.
  void record(std::span<const Part> parts);

  // The device among these that should take a single query: it has the least to do for its speed. in_flight: of all
  // devices.
  std::size_t choose(std::span<const std::size_t> devices, std::span<const std::uint32_t> in_flight) const;

  // Of all devices; their sum is 1.
  std::span<const double> speeds() const { return speeds_; }

  static constexpr std::size_t kLeastShare = 128;

 private:
  std::vector<double> speeds_;
};

}  // namespace culmen::gpu
