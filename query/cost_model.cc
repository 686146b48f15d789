#include "query/cost_model.h"

#include <algorithm>
#include <cmath>

namespace culmen {
namespace {

// What a core's own cache holds, roughly: leaves that a search has read before are found there.
constexpr double kOwnBytes = 1 << 20;

// By the logarithm of k between the measured ones.
void charge_by_k(const CostsByK& costs, double times, double k, Bill& bill) {
  constexpr double kFirst = 4, kStep = 4;  // log2 of 16, and of the next over it
  const double place = std::clamp((std::log2(std::max(k, 1.0)) - kFirst) / kStep, 0.0, 3.0);
  const auto below = std::min(static_cast<std::size_t>(place), costs.size() - 2);
  const double share = place - static_cast<double>(below);
  bill.charge(costs[below], times * (1 - share));
  bill.charge(costs[below + 1], times * share);
}

// `part`: of it that is charged.
void charge_visits(const Work& work, double part, Bill& bill) {
  bill.charge(&MachineCosts::value_ns, part * work.values);
  bill.charge(&MachineCosts::candidate_ns, part * work.candidates);
  charge_by_k(kReplaceCosts, part * work.replacements, work.hits, bill);
}

Bill shared_bill(const Work& work, Cost leaf, Threads threads) {
  Bill bill;
  const double used = threads.used;
  bill.charge(&MachineCosts::share_ns, 1);
  // One thread begins; the others share the rest once they have come.
  bill.charge(&MachineCosts::fork_ns, 1 - 1 / used);
  bill.charge(leaf, work.leaves / used);
  charge_visits(work, 1 / used, bill);
  // Threads share the memory: beyond one of them, its speed goes up to that of all.
  const double share = threads.all > 1 ? (used - 1) / (threads.all - 1) : 0;
  charge_reading(kStreamRead, work.span, work.leaves, work.bytes, 1 - share, bill);
  charge_reading(kSharedRead, work.span, work.leaves, work.bytes, share, bill);
  bill.charge(&MachineCosts::merge_ns, (used - 1) * work.hits);
  charge_by_k(kHitCosts, work.hits, work.hits, bill);
  return bill;
}

double shared_us(const Work& work, Cost leaf, const MachineCosts& costs, Threads threads) {
  const double alone = shared_bill(work, leaf, {1, threads.all}).ns(costs);
  if (threads.used == 1) return alone / 1000;
  return std::min(alone, shared_bill(work, leaf, threads).ns(costs)) / 1000;
}

}  // namespace

void charge_reading(const ReadCosts& read, double span, double leaves, double bytes, double part,
                    Bill& bill) {
  double from = kOwnBytes;
  if (span <= from || part == 0) return;
  const auto charge = [&](std::size_t size, double share) {
    bill.charge(read.leaf[size], share * part * leaves);
    bill.charge(read.kb[size], share * part * bytes / 1024);
  };
  for (std::size_t size = 0; size < kReadSizes.size(); ++size) {
    const auto to = static_cast<double>(kReadSizes[size]);
    if (span < to) {
      const double way = std::log2(span / from) / std::log2(to / from);
      if (size > 0) charge(size - 1, 1 - way);
      return charge(size, way);
    }
    from = to;
  }
  charge(kReadSizes.size() - 1, 1);
}

double expected_replacements(double k, double rows) {
  return rows > k ? k * std::log(rows / k) : 0;
}

Bill bounded_bill(const Work& work) {
  Bill bill;
  bill.charge(&MachineCosts::search_ns, 1);
  bill.charge(&MachineCosts::node_ns, work.nodes);
  bill.charge(&MachineCosts::range_ns, work.ranges);
  bill.charge(&MachineCosts::leaf_ns, work.leaves);
  bill.charge(&MachineCosts::tied_ns, work.leaves_tied_out);
  charge_visits(work, 1, bill);
  charge_reading(kFarRead, work.span, work.leaves, work.bytes, 1, bill);
  charge_by_k(kHitCosts, work.hits, work.hits, bill);
  return bill;
}

Bill scan_bill(const Work& work, Threads threads) {
  return shared_bill(work, &MachineCosts::scan_leaf_ns, threads);
}

Bill gta_bill(const Work& work, Threads threads) {
  return shared_bill(work, &MachineCosts::gta_leaf_ns, threads);
}

double bounded_us(const Work& work, const MachineCosts& costs) {
  return bounded_bill(work).ns(costs) / 1000;
}

double scan_us(const Work& work, const MachineCosts& costs, Threads threads) {
  return shared_us(work, &MachineCosts::scan_leaf_ns, costs, threads);
}

double gta_us(const Work& work, const MachineCosts& costs, Threads threads) {
  return shared_us(work, &MachineCosts::gta_leaf_ns, costs, threads);
}

}  // namespace culmen
