// The cost model of a GPU, and whether queries belong there. Builds and runs without CUDA.
//
//   bounded = launch + steps + min(k, 256) hit + kB of all level-1 bounds and visited leaves / read
//   scan    = launch + 1.08 kB of the used columns / read
//   batch   = launch + queries (query + leaves leaf + k hit), one warp per query
//   copy    = kB of the index / copy, unless it is there already
#pragma once

#include "gpu/search/device_speed.h"
#include "planner/cost_model.h"

namespace culmen {

// Nanoseconds, of an H100 (docs/results/gpu.md).
struct DeviceCosts {
  int device = 0;          // the GPU in question
  gpu::DeviceSpeed speed;  // measured if there is a GPU
  double steps = 14'000;   // the dependent steps of a search by bounds
  double hit = 20;         // each row of its answer, up to 256
  double batch_query = 180;
  double batch_leaf = 10;  // each leaf that a query visits
  double batch_hit = 9;
};

// What a GPU reads of the index, for queries of one kind.
struct DeviceTable {
  double index_bytes = 0;   // of a copy
  double bounds_bytes = 0;  // of the bounds rows that a query adds up, for all leaves
  double column_bytes = 0;  // of the attributes that a query uses, in all leaves
  double leaves = 1;
};

double device_bounded_us(const Work& work, const DeviceTable& table, const DeviceCosts& costs);
double device_scan_us(const DeviceTable& table, const DeviceCosts& costs);
// `work`: of one query.
double device_batch_us(double queries, const Work& work, const DeviceCosts& costs);
double device_copy_us(const DeviceTable& table, const DeviceCosts& costs);

// Queries that are answered together, described by averages over a few of them.
struct Workload {
  double queries = 1;
  double cpu_us = 0;  // of one query on one thread; of a single query on the threads of its engine
  int threads = 1;    // that share the queries
  Work bounded;       // of one query
  DeviceTable table;
  bool has_copy = false;
};

struct PlacementTimes {
  double cpu_us = 0;
  double device_us = 0;  // without copying
  double copy_us = 0;
  bool on_device() const { return device_us + copy_us < cpu_us; }
};
PlacementTimes placement_times(const Workload& load, const DeviceCosts& costs);

}  // namespace culmen
