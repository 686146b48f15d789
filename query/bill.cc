#include "query/bill.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace culmen {
namespace {

constexpr std::size_t kCount = kCostConstants.size();
// One cost at a time is set to its best value while the others stand, in turn: slow where costs come in
// pairs, but a sweep takes some microseconds.
constexpr int kMostSweeps = 20'000;
constexpr double kStill = 1e-9;  // of a cost's share of the bills, when a sweep changes less

// The sums over all bills that least squares need, each bill's entries being parts of what was paid.
struct Sums {
  std::array<std::array<double, kCount>, kCount> products{};
  std::array<double, kCount> entries{};

  explicit Sums(std::span<const PaidBill> paid) {
    for (const PaidBill& each : paid) {
      std::array<double, kCount> parts;  // NOLINT(cppcoreguidelines-pro-type-member-init)
      for (std::size_t c = 0; c < kCount; ++c) parts[c] = each.bill.times(kCostConstants[c].value) / each.ns;
      for (std::size_t c = 0; c < kCount; ++c) {
        entries[c] += parts[c];
        for (std::size_t d = 0; d < kCount; ++d) products[c][d] += parts[c] * parts[d];
      }
    }
  }
};

}  // namespace

Bill::Bill() {
  for (const CostConstant& constant : kCostConstants) times_.*constant.value = 0;
}

void Bill::add(const Bill& other, double part) {
  for (const CostConstant& constant : kCostConstants)
    times_.*constant.value += part * other.times_.*constant.value;
}

double Bill::ns(const MachineCosts& costs) const {
  double sum = 0;
  for (const CostConstant& constant : kCostConstants) sum += times_.*constant.value * (costs.*constant.value);
  return sum;
}

MachineCosts fit_costs(std::span<const PaidBill> paid) {
  const Sums sums(paid);
  std::array<double, kCount> costs{};
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double most_moved = 0;
    for (std::size_t c = 0; c < kCount; ++c) {
      if (sums.products[c][c] == 0) continue;
      double missing = sums.entries[c];
      for (std::size_t d = 0; d < kCount; ++d) missing -= sums.products[c][d] * costs[d];
      const double better = std::max(0.0, costs[c] + missing / sums.products[c][c]);
      most_moved = std::max(most_moved, std::abs(better - costs[c]) * std::sqrt(sums.products[c][c]));
      costs[c] = better;
    }
    if (most_moved < kStill) break;
  }
  MachineCosts result;
  for (std::size_t c = 0; c < kCount; ++c)
    if (sums.products[c][c] > 0) result.*kCostConstants[c].value = costs[c];
  return result;
}

}  // namespace culmen
