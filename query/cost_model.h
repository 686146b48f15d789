// How long an engine takes: counts of work, each times what it costs on the machine.
//
//   bounded = search + nodes node + ranges range + leaves leaf + tied tied + visits + far
//             + hits hit(k)
//   scan    = share + fork (1 - 1 / threads) + (leaves scan_leaf + visits) / threads + stream
//             + (threads - 1) hits merge + hits hit(k)
//   gta     = the same with gta_leaf, for the leaves that it reads
//   visits  = values value + candidates candidate + replacements replace(k)
//   far, stream = leaves leaf + kB kb, of each size of table its own; of all threads `shared`, of some
//             between
//
// A scan, or gta, takes no longer than one thread would.
//
// Times are those of a warm index on an idle machine: what fits the processor's own cache costs no reading.
#pragma once

#include "query/bill.h"
#include "query/machine_costs.h"

namespace culmen {

// What an engine does for one query, counted or estimated.
struct Work {
  double nodes = 0;
  double ranges = 0;  // over all nodes
  double leaves = 0;
  double leaves_tied_out = 0;
  double values = 0;  // that are scored, or compared with a range
  double bytes = 0;   // of values that are scored
  double span = 0;    // bytes of the visited leaves, all attributes: what caches would have to hold
  double candidates = 0;
  double replacements = 0;
  double hits = 0;
};

// How many of the machine's threads share a scan, or gta.
struct Threads {
  int used = 1;
  int all = 1;
};

// The bill of one thread that visits leaves in any order.
Bill bounded_bill(const Work& work);
// The bills of threads that each read leaves in a row, and have all come to share the work.
Bill scan_bill(const Work& work, Threads threads);
Bill gta_bill(const Work& work, Threads threads);

double bounded_us(const Work& work, const MachineCosts& costs);
// One thread does what is not worth the others' coming.
double scan_us(const Work& work, const MachineCosts& costs, Threads threads);
double gta_us(const Work& work, const MachineCosts& costs, Threads threads);

// What reading adds for leaves of `span` bytes altogether: nothing while they fit a core's own cache, and
// straight in the logarithm of `span` between there and the measured sizes. `part`: of it that is charged.
void charge_reading(const ReadCosts& read, double span, double leaves, double bytes, double part, Bill& bill);

// Rows that find a place among the k best of `rows` in no order, the first k left out.
double expected_replacements(double k, double rows);

}  // namespace culmen
