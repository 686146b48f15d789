// What a GPU takes, and whether queries belong there: the cost model's other half. Builds and runs without
// CUDA; measure_device_costs (query/measure_device.h) needs a GPU.
//
//   bounded = launch + steps + min(k, 256) hit + kB of all level-1 bounds and visited leaves / read
//   scan    = launch + 1.08 kB of the used columns / read
//   batch   = launch + queries (query + leaves leaf + k hit), a warp each
//   copy    = kB of the index / copy, unless it is there already
#pragma once

#include <array>

#include "query/cost_model.h"

namespace culmen {

// The defaults were measured on an H100 (docs/results/gpu.md).
struct DeviceCosts {
  double launch_ns = 8'200;
  double read_ns_per_kb = 0.34;
  double copy_ns_per_kb = 80;
  double steps_ns = 14'000;
  double hit_ns = 20;
  double batch_query_ns = 180;
  double batch_leaf_ns = 10;
  double batch_hit_ns = 9;
};

using DeviceConstant = NamedCost<DeviceCosts>;

inline constexpr std::array kDeviceConstants = {
    DeviceConstant{"device_launch_ns", "a kernel on the GPU and its answer on the host",
                   &DeviceCosts::launch_ns},
    DeviceConstant{"device_read_ns_per_kb", "a kilobyte that the GPU reads", &DeviceCosts::read_ns_per_kb},
    DeviceConstant{"device_copy_ns_per_kb", "a kilobyte that is copied to the GPU",
                   &DeviceCosts::copy_ns_per_kb},
    DeviceConstant{"device_steps_ns", "the steps of a search by bounds, one after the other",
                   &DeviceCosts::steps_ns},
    DeviceConstant{"device_hit_ns", "each row of its answer, of 256 at most", &DeviceCosts::hit_ns},
    DeviceConstant{"device_batch_query_ns", "each query of thousands", &DeviceCosts::batch_query_ns},
    DeviceConstant{"device_batch_leaf_ns", "each leaf that it visits", &DeviceCosts::batch_leaf_ns},
    DeviceConstant{"device_batch_hit_ns", "each row of its answer", &DeviceCosts::batch_hit_ns},
};

// The index as a GPU sees it, for queries of one kind.
struct DeviceTable {
  double index_bytes = 0;   // of a copy
  double bounds_bytes = 0;  // of all leaves, those rows of bounds that a query adds up
  double column_bytes = 0;  // of the attributes that a query uses
};

double device_bounded_us(const Work& work, const DeviceTable& table, const DeviceCosts& costs);
double device_scan_us(const DeviceTable& table, const DeviceCosts& costs);
// `work`: of one query, on average.
double device_batch_us(double queries, const Work& work, const DeviceCosts& costs);
double device_copy_us(const DeviceTable& table, const DeviceCosts& costs);

// Queries that are to be answered together, by predictions for a few of them.
struct Workload {
  double queries = 1;
  double cpu_us = 0;  // of one, by one thread; a single query: by as many as its engine takes
  int threads = 1;    // that share the queries
  Work bounded;       // of one, on average
  DeviceTable table;
  bool has_copy = false;
};

struct PlaceTimes {
  double cpu_us = 0;
  double device_us = 0;  // without copying
  double copy_us = 0;
  bool on_device() const { return device_us + copy_us < cpu_us; }
};
PlaceTimes place_times(const Workload& load, const DeviceCosts& costs);

}  // namespace culmen
