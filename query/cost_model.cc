#include "query/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace culmen {
namespace {

// Of a processor's core, about: blocks that a search has read before are found there.
constexpr double kNearBytes = 1 << 20;

constexpr double kLeavesOfATask = 256;  // of a scan: fewer are one thread's

// The part of `bytes` that a core finds elsewhere.
double far_kb(double bytes) {
  return std::max(0.0, bytes - kNearBytes) / 1024;
}

double visits_ns(const Work& work, const MachineCosts& costs) {
  return work.leaves * costs.leaf_ns + work.values * costs.value_ns + work.leaves_tied_out * costs.tied_ns;
}

double entries_ns(const Work& work, const MachineCosts& costs) {
  return work.candidates * costs.candidate_ns + work.replacements * replace_ns(work.hits, costs);
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
                    work.ranges * costs.range_ns + visits_ns(work, costs) +
                    far_kb(work.bytes) * costs.far_leaf_ns_per_kb + entries_ns(work, costs) +
                    answer_ns(work, costs);
  return ns / 1000;
}

double scan_us(const Work& work, const MachineCosts& costs, int threads, int all_threads) {
  if (work.leaves <= kLeavesOfATask) threads = 1;
  const double visiting = visits_ns(work, costs) / threads;
  // Threads share the memory: beyond one of them, its speed goes up to that of all.
  const double share = all_threads > 1 ? (threads - 1.0) / (all_threads - 1.0) : 0;
  const double stream =
      costs.stream_ns_per_kb + share * (costs.shared_stream_ns_per_kb - costs.stream_ns_per_kb);
  const double reading = work.bytes > threads * kNearBytes ? work.bytes / 1024 * stream : 0;
  const double ns = costs.search_ns + (threads > 1 ? costs.fork_ns : 0) + std::max(visiting, reading) +
                    entries_ns(work, costs) / threads + answer_ns(work, costs);
  return ns / 1000;
}

}  // namespace culmen
