#include "planner/cost_model.h"

#include <algorithm>
#include <cmath>

#include "cpu/buffered_topk.h"

namespace culmen {
namespace {

constexpr double kKilobyte = 1024;

// The part of reads that go to memory for a working set of `span` bytes: 0 if a core's own cache holds it, 1 if no
// cache does.
double far_share(double span) {
  constexpr double kCached = 1 << 20, kUncached = 64 << 20;
  return std::clamp(std::log2(span / kCached) / std::log2(kUncached / kCached), 0.0, 1.0);
}

// The cost per row grows with the size of the heap or answer.
double by_k(double of_16, double slope, double k) {
  return of_16 * (1 + slope * std::log2(std::max(k / 16, 1.0)));
}

double replacement(const CostsNs& costs, double k) {
  return by_k(costs.replacement, 0.6, k);
}

double hit(const CostsNs& costs, double k) {
  constexpr double kCached = 1 << 16, kSlope = 0.25;  // larger heaps leave a core's cache
  return by_k(costs.hit, 0.4, k) * (1 + kSlope * std::log2(std::max(k / kCached, 1.0)));
}

// `replacement`: the cost of one.
double scored_ns(const Work& work, const CostsNs& costs, double replacement) {
  return work.values * costs.value + work.codes * costs.code +
         work.lines * (costs.line + far_share(work.lines * 64) * costs.far_line) +
         work.candidates * costs.candidate + work.replacements * replacement;
}

double scan_ns(const Work& work, const CostsNs& costs, int num_threads) {
  constexpr double kStreams = 8;
  const double threads = num_threads, doublings = std::log2(threads);
  const bool is_buffered = work.hits >= static_cast<double>(BufferedTopK::kWorthIt);
  const double entering = is_buffered ? costs.buffered : replacement(costs, work.hits);
  const double merge = is_buffered ? costs.buffered : costs.merge;
  const double reading = work.leaves * costs.stream_leaf + work.bytes / kKilobyte * costs.stream_kb;
  return costs.share + costs.fork * doublings +
         (work.leaves * costs.scan_leaf + scored_ns(work, costs, entering)) / threads +
         far_share(work.span) * reading / std::min(threads, kStreams) + doublings * work.hits * merge +
         work.hits * (is_buffered ? costs.sorted : hit(costs, work.hits));
}

}  // namespace

double bounded_us(const Work& work, const CostsNs& costs) {
  const double reading =
      work.rows * costs.far_row + work.leaves * costs.far_leaf + work.bytes / kKilobyte * costs.far_kb;
  const double ns = costs.search + work.nodes * costs.node + work.rows * costs.row +
                    work.ranges * costs.range + work.leaves * costs.leaf + work.leaves_tied_out * costs.tied +
                    scored_ns(work, costs, replacement(costs, work.hits)) + far_share(work.span) * reading +
                    work.hits * hit(costs, work.hits);
  return ns / 1000;
}

double scan_us(const Work& work, const CostsNs& costs, int threads) {
  return std::min(scan_ns(work, costs, 1), scan_ns(work, costs, threads)) / 1000;
}

double expected_replacements(double k, double rows) {
  return rows > k ? k * std::log(rows / k) : 0;
}

}  // namespace culmen
