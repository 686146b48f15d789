#include "gpu/group/load_balance.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace culmen::gpu {
namespace {

// How much of a speed is the latest batch's: one that was disturbed changes little.
constexpr double kLatest = 0.25;
// No device is believed to be slower than this part of the mean: it must still be measured.
constexpr double kLeastSpeed = 1.0 / 16;

}  // namespace

std::vector<std::size_t> LoadBalance::divide(std::size_t num_queries,
                                             std::span<const std::size_t> devices) const {
  std::vector<std::size_t> by_speed(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) by_speed[i] = i;
  std::ranges::stable_sort(by_speed, std::ranges::greater(),
                           [&](std::size_t i) { return speeds_[devices[i]]; });
  by_speed.resize(std::clamp<std::size_t>(num_queries / kLeastShare, 1, devices.size()));
  double all = 0;
  for (const std::size_t i : by_speed) all += speeds_[devices[i]];
  std::vector<std::size_t> shares(devices.size());
  double sum = 0;
  std::size_t given = 0;
  for (const std::size_t i : by_speed) {
    sum += speeds_[devices[i]];
    const bool is_last = i == by_speed.back();
    const auto end =
        is_last ? num_queries
                : static_cast<std::size_t>(std::lround(static_cast<double>(num_queries) * (sum / all)));
    shares[i] = end - given;
    given = end;
  }
  return shares;
}

void LoadBalance::record(std::span<const Part> parts) {
  double before = 0, rates = 0;
  for (const Part& part : parts) {
    if (part.num_queries == 0 || part.seconds <= 0) return;
    before += speeds_[part.device];
    rates += static_cast<double>(part.num_queries) / part.seconds;
  }
  for (const Part& part : parts) {
    const double measured = static_cast<double>(part.num_queries) / part.seconds / rates * before;
    double& speed = speeds_[part.device];
    speed += kLatest * (measured - speed);
  }
  const double least = kLeastSpeed / static_cast<double>(speeds_.size());
  double sum = 0;
  for (double& speed : speeds_) sum += speed = std::max(speed, least);
  for (double& speed : speeds_) speed /= sum;
}

std::size_t LoadBalance::choose(std::span<const std::size_t> devices,
                                std::span<const std::uint32_t> in_flight) const {
  return *std::ranges::min_element(devices, std::ranges::less(), [&](std::size_t device) {
    return (in_flight[device] + 1.0) / speeds_[device];
  });
}

}  // namespace culmen::gpu
