// How long an engine takes: counts of work, each times what it costs.
//
//   bounded = search + nodes node + rows row + ranges range + leaves leaf + tied tied + scored
//             + far(rows far_row + leaves far_leaf + kB far_kb) + hits hit(k)
//   scan    = share + fork log2(threads) + (leaves scan_leaf + scored) / threads
//             + far(leaves stream_leaf + kB stream_kb) / streams + log2(threads) hits merge + hits hit(k)
//   scored  = values value + codes code + lines line(far) + candidates candidate + replacements replace(k)
//
// A scan for a large k has `buffered` in the place of replace(k) and merge, and `sorted` in that of hit(k).
//
// far: the part of it that caches do not spare. streams: threads, as many as memory has room for. A scan by
// several threads takes no longer than by one. Times are those of a warm index on an idle machine.
//
// The costs are built in: of one processor, taken from some 270 searches whose counters told how much of each
// work they did (docs/decisions/0015-planner.md). Others differ from it by a factor, nearly the same for all
// of them, which planner/speed_factor.h measures.
#pragma once

namespace culmen {

// Of two cores of a server of 2023 (Sapphire Rapids, AVX-512).
struct CostsNs {
  double search = 594;      // a search by bounds that finds one row
  double node = 60;         // opening an inner node
  double row = 8;           // and each row of its bounds that a query adds up
  double range = 215;       // comparing a node's children with a range
  double leaf = 120;        // taking a leaf from the frontier and visiting it
  double tied = 16;         // a leaf that can only tie, among others of its node
  double value = 0.098;     // each value that is scored, or compared with a range
  double code = 0.07;       // each code that is looked at instead
  double line = 0.8;        // each cache line of rows that codes do not exclude and are scored one by one
  double far_line = 3;      // and reading it where no cache holds it
  double candidate = 3.7;   // a row that reaches the k-th best, whether it enters or not
  double replacement = 28;  // a row that enters the 16 best in another's place; more for larger k
  double buffered = 15;     // the same in a scan for so many that it keeps no heap (cpu/buffered_topk.h)
  double hit = 30;          // each row of an answer of 16; more for larger k
  double sorted = 100;      // the same in a scan for so many (cpu/sort_hits.h)
  double share = 953;       // a scan that finds one row
  double fork = 7'000;      // until twice as many threads share it: those that have come wake the next
  double merge = 164;       // each of the k best, when those of twice as many threads are put together
  double scan_leaf = 29;    // visiting a leaf in a scan
  double far_row = 50;      // reading a row of bounds that no cache holds
  double far_leaf = 80;     // reading a leaf that no cache holds, after one elsewhere
  double far_kb = 65;       // and each kilobyte of its values
  double stream_leaf = 20;  // reading it after its neighbour
  double stream_kb = 35;
};

// What an engine does for one query, counted or estimated.
struct Work {
  double nodes = 0;
  double rows = 0;    // of bounds, over all nodes
  double ranges = 0;  // over all nodes
  double leaves = 0;
  double leaves_tied_out = 0;
  double values = 0;  // that are scored, or compared with a range
  double codes = 0;   // that are looked at
  double lines = 0;   // cache lines of rows that codes do not exclude
  double bytes = 0;   // of these values and codes
  double span = 0;    // the same of all attributes of the visited leaves: what caches would have to hold
  double candidates = 0;
  double replacements = 0;
  double hits = 0;
};

double bounded_us(const Work& work, const CostsNs& costs);
double scan_us(const Work& work, const CostsNs& costs, int threads);

// Rows that find a place among the k best of `rows` in no order, the first k left out.
double expected_replacements(double k, double rows);

}  // namespace culmen
