// How long an engine takes: counts of work times the cost of each.
//
//   bounded = search + nodes node + rows row + ranges range + leaves leaf + tied tied + scored
//             + far(rows far_row + leaves far_leaf + kB far_kb) + hits hit(k)
//   scan    = share + fork log2(threads) + (leaves scan_leaf + scored) / threads
//             + far(leaves stream_leaf + kB stream_kb) / streams + log2(threads) hits merge + hits hit(k)
//   scored  = values value + codes code + lines line(far) + candidates candidate + replacements replace(k)
//
// A scan for a large k has `buffered` instead of replace(k) and merge, and `sorted` instead of hit(k).
//
// far: the part that caches do not save. streams: threads, up to the number that saturates memory. A scan by several
// threads takes no longer than by one. Times are those of a warm index on an idle machine.
//
// The costs are built in. They are those of one processor, fitted to the times and counters of some 270 searches
// (docs/decisions/0015-planner.md). Other processors differ by a factor, nearly the same for all costs, which
// planner/speed_factor.h measures.
#pragma once

namespace culmen {

// Measured on two cores of a server of 2023 (Sapphire Rapids, AVX-512).
struct CostsNs {
  double search = 594;     // a search by bounds that finds one row
  double node = 60;        // opening an inner node
  double row = 8;          // plus each bounds row that the query adds up
  double range = 215;      // comparing a node's children with a range
  double leaf = 120;       // taking a leaf from the frontier and visiting it
  double tied = 16;        // skipping a leaf that can only tie, with others of its node
  double value = 0.098;    // each value that is scored, or compared with a range
  double code = 0.07;      // each code that is checked instead
  double line = 0.8;       // each cache line of rows that codes do not exclude and that are scored one by one
  double far_line = 3;     // plus reading it if no cache holds it
  double candidate = 3.7;  // a row that reaches the k-th score, whether it enters or not
  double replacement = 28;  // a row that replaces one of the 16 best; more for larger k
  double buffered = 15;     // the same in a scan for a k too large for heaps (cpu/buffered_topk.h)
  double hit = 30;          // each row of an answer of 16; more for larger k
  double sorted = 100;      // the same in a scan for a k too large for heaps (cpu/sort_hits.h)
  double share = 953;       // a scan that finds one row
  double fork = 7'000;      // each doubling of the threads that share a scan: running threads wake the next
  double merge = 164;       // each of the k best, for each doubling of the threads whose heaps are merged
  double scan_leaf = 29;    // visiting a leaf in a scan
  double far_row = 50;      // reading a bounds row that no cache holds
  double far_leaf = 80;     // reading a leaf that no cache holds, out of order
  double far_kb = 65;       // plus each kilobyte of its values
  double stream_leaf = 20;  // the same in order, as in a scan
  double stream_kb = 35;
};

// The work of an engine for one query, counted or estimated.
struct Work {
  double nodes = 0;
  double rows = 0;    // bounds rows of all nodes
  double ranges = 0;  // compared with all nodes
  double leaves = 0;
  double leaves_tied_out = 0;
  double values = 0;  // scored, or compared with a range
  double codes = 0;   // checked
  double lines = 0;   // cache lines of rows that codes do not exclude
  double bytes = 0;   // of these values and codes
  double span = 0;    // bytes of all attributes of the visited leaves: what caches would have to hold
  double candidates = 0;
  double replacements = 0;
  double hits = 0;
};

double bounded_us(const Work& work, const CostsNs& costs);
double scan_us(const Work& work, const CostsNs& costs, int threads);

// How many of `rows` rows in random order enter the k best, not counting the first k.
double expected_replacements(double k, double rows);

}  // namespace culmen
