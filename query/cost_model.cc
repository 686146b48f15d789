#include "query/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace culmen {
namespace {

// Of a processor's core, about: leaves that a search has read before are found there.
constexpr double kOwnBytes = 1 << 20;
// The processor sees what a scan will read next, and fetches it from the cache that cores share in time.
constexpr double kStreamedBytes = 4 << 20;
constexpr double kMostOwnBytes = 16 << 20;

constexpr double kLeavesOfATask = 256;  // of a scan: fewer are one thread's

// What reading leaves adds to computing: nothing while all fit `near_bytes`, and straight in the logarithm of
// the bytes between there and the measured sizes.
double reading_ns(const Work& work, const ReadCosts& read, double near_bytes, const MachineCosts& costs) {
  const auto at = [&](std::size_t size) {
    return work.leaves * costs.*read.leaf[size] + work.bytes / 1024 * costs.*read.kb[size];
  };
  const auto way = [&](double from, double to) { return std::log2(work.span / from) / std::log2(to / from); };
  constexpr auto kFirst = static_cast<double>(kReadSizes[0]), kSecond = static_cast<double>(kReadSizes[1]);
  if (work.span <= near_bytes) return 0;
  if (work.span <= kFirst) return way(near_bytes, kFirst) * at(0);
  return at(0) + std::min(1.0, way(kFirst, kSecond)) * (at(1) - at(0));
}

double visits_ns(const Work& work, const MachineCosts& costs) {
  return work.leaves * costs.leaf_ns + work.corners * costs.corner_ns + work.values * costs.value_ns +
         work.leaves_tied_out * costs.tied_ns;
}

double entries_ns(const Work& work, const MachineCosts& costs) {
  return work.candidates * costs.candidate_ns + work.replacements * replace_ns(work.hits, costs);
}

// Threads' hits, one heap after the other into one more.
double merging_ns(double hits, const MachineCosts& costs, int threads) {
  return threads * hits * costs.candidate_ns +
         expected_replacements(hits, threads * hits) * replace_ns(hits, costs);
}

double answer_ns(const Work& work, const MachineCosts& costs) {
  return work.hits * std::log2(work.hits + 1) * costs.sort_ns;
}

}  // namespace

double replace_ns(double k, const MachineCosts& costs) {
  const std::array measured = {costs.replace_16_ns, costs.replace_256_ns, costs.replace_4096_ns,
                               costs.replace_65536_ns};
  constexpr double kFirst = 4, kStep = 4;  // log2 of 16, and of the next over it
  const double place = std::clamp((std::log2(std::max(k, 1.0)) - kFirst) / kStep, 0.0, 3.0);
  const auto below = std::min(static_cast<std::size_t>(place), measured.size() - 2);
  const double share = place - static_cast<double>(below);
  return measured[below] + share * (measured[below + 1] - measured[below]);
}

double expected_replacements(double k, double rows) {
  return rows > k ? k * std::log(rows / k) : 0;
}

double bounded_us(const Work& work, const MachineCosts& costs) {
  const double ns = costs.search_ns + work.nodes * costs.node_ns + work.bound_rows * costs.bound_ns +
                    work.ranges * costs.range_ns + work.leaves * costs.take_ns + visits_ns(work, costs) +
                    reading_ns(work, kFarRead, kOwnBytes, costs) + entries_ns(work, costs) +
                    answer_ns(work, costs);
  return ns / 1000;
}

double scan_us(const Work& work, const MachineCosts& costs, int threads, int all_threads) {
  if (work.leaves <= kLeavesOfATask) threads = 1;
  const double near_bytes = std::clamp(threads * kOwnBytes, kStreamedBytes, kMostOwnBytes);
  // Threads share the memory: beyond one of them, its speed goes up to that of all.
  const double share = all_threads > 1 ? (threads - 1.0) / (all_threads - 1.0) : 0;
  const double alone = reading_ns(work, kStreamRead, near_bytes, costs);
  const double reading = alone + share * (reading_ns(work, kSharedRead, near_bytes, costs) - alone);
  // One thread begins; the others share the rest once they have come.
  const double alone_meanwhile = costs.fork_ns * (1 - 1.0 / threads);
  const double ns = costs.search_ns + alone_meanwhile +
                    (visits_ns(work, costs) + entries_ns(work, costs)) / threads + reading +
                    merging_ns(work.hits, costs, threads) + answer_ns(work, costs);
  return ns / 1000;
}

}  // namespace culmen
