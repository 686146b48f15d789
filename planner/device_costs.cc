#include "planner/device_costs.h"

#include <algorithm>
#include <cmath>

namespace culmen {
namespace {

constexpr double kRankedHits = 256;  // larger answers are sorted by more thread blocks
constexpr double kScanOverhead = 1.08;

double kb(double bytes) {
  return bytes / 1024;
}

}  // namespace

double device_bounded_us(const Work& work, const DeviceTable& table, const DeviceCosts& costs) {
  const double ns =
      costs.speed.launch_ns + costs.steps + std::min(work.hits, kRankedHits) * costs.hit +
      kb(table.bounds_bytes + work.leaves / table.leaves * table.column_bytes) * costs.speed.read_ns_per_kb;
  return ns / 1000;
}

double device_scan_us(const DeviceTable& table, const DeviceCosts& costs) {
  return (costs.speed.launch_ns + kScanOverhead * kb(table.column_bytes) * costs.speed.read_ns_per_kb) / 1000;
}

double device_batch_us(double queries, const Work& work, const DeviceCosts& costs) {
  const double each = costs.batch_query + work.leaves * costs.batch_leaf + work.hits * costs.batch_hit;
  return (costs.speed.launch_ns + queries * each) / 1000;
}

double device_copy_us(const DeviceTable& table, const DeviceCosts& costs) {
  return kb(table.index_bytes) * costs.speed.copy_ns_per_kb / 1000;
}

PlacementTimes placement_times(const Workload& load, const DeviceCosts& costs) {
  PlacementTimes times;
  // The last queries keep only some of the threads busy.
  times.cpu_us = std::ceil(load.queries / load.threads) * load.cpu_us;
  times.copy_us = load.has_copy ? 0 : device_copy_us(load.table, costs);
  // A batch takes at least as long as its slowest query alone.
  times.device_us = device_bounded_us(load.bounded, load.table, costs);
  if (load.queries > 1)
    times.device_us = std::max(times.device_us, device_batch_us(load.queries, load.bounded, costs));
  return times;
}

}  // namespace culmen
