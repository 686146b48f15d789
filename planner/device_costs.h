// What a GPU takes, and whether queries belong there: the cost model's other half. Builds and runs without
// CUDA.
//
//   bounded = launch + steps + min(k, 256) hit + kB of all level-1 bounds and visited leaves / read
//   scan    = launch + 1.08 kB of the used columns / read
//   batch   = launch + queries (query + leaves leaf + k hit), a warp each
//   copy    = kB of the index / copy, unless it is there already
#pragma once

#include "gpu/search/device_speed.h"
#include "planner/cost_model.h"

namespace culmen {

// Nanoseconds, of an H100 (docs/results/gpu.md).
struct DeviceCosts {
  gpu::DeviceSpeed speed;  // measured where a GPU is
  double steps = 14'000;   // of a search by bounds, one after the other
  double hit = 20;         // each row of its answer, of 256 at most
  double batch_query = 180;
  double batch_leaf = 10;  // that a query visits
  double batch_hit = 9;
};

// The index as a GPU sees it, for queries of one kind.
struct DeviceTable {
  double index_bytes = 0;   // of a copy
  double bounds_bytes = 0;  // of all leaves, those rows of bounds that a query adds up
  double column_bytes = 0;  // of the attributes that a query uses
  double leaves = 1;        // that these lie in
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

struct PlacementTimes {
  double cpu_us = 0;
  double device_us = 0;  // without copying
  double copy_us = 0;
  bool on_device() const { return device_us + copy_us < cpu_us; }
};
PlacementTimes placement_times(const Workload& load, const DeviceCosts& costs);

}  // namespace culmen
