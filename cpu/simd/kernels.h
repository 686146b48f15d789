// The inner loops of the CPU engines, compiled once per instruction set by Highway and chosen at run time.
// All targets return the same bits: scores are the fma chain of index/score.h, lane by lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/bound_row.h"
#include "query/resolved_query.h"

namespace culmen::simd {

struct ScoredRow {
  double score;
  std::uint32_t row;
};

// Scores the rows of one leaf and writes those with score >= k-th score bound that pass the query's ranges, in row
// order.
//
//   values  [num_attributes][stride] oriented, stride a multiple of 16; all of the last 16 rows readable
//   out     room for num_rows
// Returns how many were written.
template <typename T>
std::size_t score_rows(const T* values, std::size_t stride, std::uint32_t num_rows,
                       const ResolvedQuery& query, double kth_bound, ScoredRow* out);

// The same of listed rows, in their order. out: room for one more than there are.
template <typename T>
std::size_t score_listed(const T* values, std::size_t stride, std::span<const std::uint32_t> rows,
                         const ResolvedQuery& query, double kth_bound, ScoredRow* out);

// What a first look at a leaf reads.
template <typename T>
struct LeafCodes {
  const std::uint16_t* codes;  // [num_attributes][num_words], as of index/leaf_codes.h
  std::size_t num_words;
  const T *highest, *lowest;  // [num_attributes] the leaf's zone map
  std::uint32_t num_rows;
};
inline constexpr std::size_t kAllRows = ~std::size_t{0};

// Writes the rows that may score `kth_bound` or more, for all that their codes say, whether or not they pass the query's
// ranges; in no order. Every row that does is among them.
//
//   rows  room for 4 * num_words + 1
// Returns how many were written, or kAllRows, of which none is: the codes say nothing.
template <typename T>
std::size_t rows_by_codes(const LeafCodes<T>& leaf, const ResolvedQuery& query, double kth_bound,
                          std::uint32_t* rows);

// Bounds of all kFanOut children of a node: out[c] = base + sum of coefficient * bounds[row][c].
// Entries of children that the node does not have are meaningless.
void child_bounds(const BoundRow* bounds, double base, const BoundTerms& terms, double* out);

// The children, as bits, whose bound is the highest of `bounds` [kFanOut], which holds no NaN; and that
// bound.
std::uint64_t highest_children(const double* bounds, double& highest);

// The instruction sets this machine can run, best first, by Highway's names ("AVX3", "AVX2", "EMU128").
std::vector<std::string> available_targets();
std::string current_target();
// Runs everything on the named target from now on; an empty name: back to the best. Throws InvalidArgument.
// Not to be called while a search runs.
void force_target(std::string_view name);

}  // namespace culmen::simd
