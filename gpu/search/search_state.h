// What the thread blocks of a search share, and the result that they write for the host.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/host_device.h"
#include "index/node_layout.h"

namespace culmen::gpu {

struct Candidate {
  double score;
  std::int64_t id;
  std::uint64_t row;
};

// The order of answers, on host and device: higher score first, equal scores by smaller id.
CULMEN_HOST_DEVICE inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

// Rows that rank before, or are, this pair may be in the answer.
struct KthBound {
  double score;
  std::int64_t id;
};

// Passed by the rows that rank before a place of the order, and not by one that is there.
inline KthBound bound_before(double score, std::int64_t id) {
  if (id > std::numeric_limits<std::int64_t>::min()) return {score, id - 1};
  return {std::nextafter(score, std::numeric_limits<double>::infinity()), kNoId};
}

// A row of a sample. Its id is read where ids decide.
struct SeedRow {
  double score;
  std::uint64_t row;
};

enum class Outcome : std::uint32_t {
  sorted,    // the hits are in order in the result
  unsorted,  // too many ties, or k too large, to sort here: all candidates are in the list
  overflow,  // more candidates than the list holds: the others were skipped
};

struct ResultHeader {
  Outcome outcome;
  std::uint32_t num_hits;
  std::uint64_t num_candidates;
  std::uint64_t leaves_visited;
  std::uint64_t nodes_visited;
  std::uint64_t rows_scored;
  std::uint64_t rows_by_bounds;  // bounded by a sweep, or by a scan's codes
  std::uint64_t sequence;        // written last: the number of the search that this answers
};

// All 0 between two searches.
struct Counters {
  std::uint32_t barrier;
  std::uint32_t blocks_done;
  std::uint64_t num_candidates;
  std::uint64_t leaves_visited;
  std::uint64_t nodes_visited;
  std::uint64_t rows_scored;
  std::uint64_t rows_by_codes;
};

struct SearchStateRef {
  Counters* counters;
  // The seeds, the best rows of the sample: [num_seeds] each. A seed's count is the number of rows that
  // it stands for: itself and rows that rank before it.
  std::uint32_t* seed_keys;
  std::uint32_t* seed_counts;
  SeedRow* seed_rows;
  double* outside;  // [num_slots] bounds of slots that do not fit into shared memory; unused if all do
  Candidate* candidates;
  ResultHeader* result;    // pinned host memory, as the hits
  Candidate* hits;         // [k]
  std::uint64_t capacity;  // of candidates
  std::uint64_t sequence;
  KthBound kth_bound;
  std::uint32_t k;
};
static_assert(std::is_trivially_copyable_v<SearchStateRef>);

// Hits that a search's own kernel sorts, at most. Separate kernels select and sort more (best_candidates.h).
inline constexpr std::uint32_t kMaxSortedHits = 1024;

}  // namespace culmen::gpu
