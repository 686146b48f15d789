// How long an engine takes: counts of work, each times what it costs on the machine.
//
//   bounded = search + nodes (node + terms bound + ranges range) + leaves take + visits + far + entries
//             + hits log2(hits) sort
//   scan    = search + fork + (visits + entries) / threads + stream + merging + hits log2(hits) sort
//   gta     = scan's formula for the leaves that it reads
//   visits  = leaves leaf + corners corner + values value + tied tied
//   far, stream = leaves leaf + kB kb, of each size of table its own
//   entries = candidates candidate + replacements replace(k)
//   merging = threads hits candidate + hits log(threads) replace(k)
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
  double corners = 0;          // of leaves that are scored, which gta looks at afterwards
  double values = 0;           // that are scored, or compared with a range
  double bytes = 0;            // of values that are scored
  double span = 0;             // bytes of the visited leaves, all attributes: what caches would have to hold
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
