// How long an engine takes: counts of work, each times what it costs on the machine.
//
//   bounded = search + nodes (node + terms bound + ranges range) + visits + far kB far_leaf + tied tied
//             + entries + hits log2(hits) sort
//   scan    = search + fork + max(visits / threads, kB stream) + entries / threads + hits log2(hits) sort
//   gta     = scan's formula for the leaves above the thresholds, each with a threshold to look at: tied
//   visits  = leaves leaf + values value
//   entries = candidates candidate + replacements replace(k)
//
// Times are those of a warm index on an idle machine: what fits the processor's own cache costs no reading.
#pragma once

#include "query/machine_costs.h"

namespace culmen {

// What an engine does for one query, counted or estimated.
struct Work {
  double nodes = 0;
  double bound_rows = 0;  // over all nodes
  double ranges = 0;      // over all nodes
  double leaves = 0;
  double leaves_tied_out = 0;  // or left by another look at their corners
  double values = 0;           // that are scored, or compared with a range
  double bytes = 0;            // of values
  double candidates = 0;
  double replacements = 0;
  double hits = 0;
};

// Of one thread that visits leaves in any order.
double bounded_us(const Work& work, const MachineCosts& costs);

// Of `threads` of the machine's `all_threads`, each of which reads leaves in a row.
double scan_us(const Work& work, const MachineCosts& costs, int threads, int all_threads);

// A row that takes the place of another among the k best, by the logarithm of k between the measured ones.
double replace_ns(double k, const MachineCosts& costs);

// Rows that find a place among the k best of `rows` in no order, the first k left out.
double expected_replacements(double k, double rows);

}  // namespace culmen
