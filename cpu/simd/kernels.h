// The inner loops of the CPU engines: Highway compiles them once per instruction set and chooses at run time.
// All targets return the same bits: each lane computes the fma chain of index/score.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/bound_row.h"
#include "index/child_zones.h"
#include "query/function_terms.h"
#include "query/intervals.h"
#include "query/resolved_query.h"
#include "query/tangent_term.h"

namespace culmen::simd {

struct ScoredRow {
  double score;
  std::uint32_t row;
};

// Scores all rows of one leaf and writes those that score at least `kth_bound`, in row order. Filters are the caller's
// (cpu/leaf_filter.h). Returns how many it wrote.
//
//   values  [num_attributes][stride] oriented, stride a multiple of 16; all of the last 16 rows readable
//   out     room for num_rows
template <typename T>
std::size_t score_rows(const T* values, std::size_t stride, std::uint32_t num_rows,
                       const ResolvedQuery& query, double kth_bound, ScoredRow* out);

// Scores only the rows listed, and writes those that qualify in the order of the list. out: room for one more than
// listed.
template <typename T>
std::size_t score_listed(const T* values, std::size_t stride, std::span<const std::uint32_t> rows,
                         const ResolvedQuery& query, double kth_bound, ScoredRow* out);

// Scores rows that lie apart, some at a time: starts[i] points to row i's first value, and the next ones are `stride`
// further each.
template <typename T>
void score_apart(std::span<const T* const> starts, std::size_t stride, std::span<const Term> terms,
                 double offset, double* scores);

// offset + the sum of weights[i] * values[i], added in any order.
template <typename T>
double plain_score(const T* values, std::span<const double> weights, double offset);

// An attribute's codes of 8 bits: a value is middle + (code - 128 + what the code loses) / inverse.
struct ByteScale {
  double middle;
  double inverse;
};
// The largest sums over a row of the leaf: of the squares of its codes - 128, and of the squares of what they lose. With
// the rounding errors of the summation.
struct ByteSquares {
  double codes;
  double losses;
};

// Writes a leaf's codes of 8 bits, 1 to 255, those of 4 neighbouring attributes in a word.
//
//   values  as of score_rows
//   words   [ceil(num_attributes / 4)][stride] of which num_rows, up to a multiple of 16, are written
template <typename T>
ByteSquares byte_codes(const T* values, std::size_t stride, std::uint32_t num_rows,
                       std::span<const ByteScale> scales, std::uint32_t* words);

// A leaf's codes and what scales them.
template <typename T>
struct LeafCodes {
  const std::uint16_t* codes;  // [num_attributes][num_words], see index/leaf_codes.h
  std::size_t num_words;
  const T *highest, *lowest;  // [num_attributes] the leaf's zone map
  std::uint32_t num_rows;
};
inline constexpr std::size_t kAllRows = ~std::size_t{0};

// Writes every row whose codes allow a score of `kth_bound` or more, in no order. Returns how many it wrote; or kAllRows,
// writing none, if the codes exclude no row.
//
//   rows  room for 4 * num_words + 1
template <typename T>
std::size_t rows_by_codes(const LeafCodes<T>& leaf, const ResolvedQuery& query, double kth_bound,
                          std::uint32_t* rows);

// Sets bit i % 64 of mask[i / 64] if number i lies in one of the intervals; T: float, double, int64 for ids, unsigned
// integers for packed keys. Bits of the last word after `count` are 0.
//
//   numbers  [count], readable up to a multiple of 64 bytes
template <typename T>
void mask_of(const T* numbers, std::size_t count, std::span<const Interval<T>> intervals,
             std::uint64_t* mask);

// Returns the children, as bits, whose zone overlaps the interval and shares a bit with `set`, that of the interval's
// keys.
std::uint32_t children_with_keys(const ChildZones& zones, const Interval<std::int64_t>& interval,
                                 std::uint64_t set);

// Computes the bounds of all kFanOut children of a node: out[c] = base + sum of coefficient * bounds[row][c].
// Entries of children that the node does not have are meaningless.
void child_bounds(const BoundRow* bounds, double base, const BoundTerms& terms, double* out);

// In which range an attribute's stored values are below each of the kFanOut children of a node, from its bounds rows.
struct ChildRanges {
  double first[kFanOut], last[kFanOut];
};
void child_ranges(const BoundRow& minima, const BoundRow& maxima, const BoundUnit& unit, ChildRanges& ranges);

// Adds what an attribute's weight and function rise at most above their line, but for rounding, to all kFanOut bounds.
void add_tangent(const TangentTerm& tangent, const ChildRanges& ranges, double* bounds);

// Adds a term of numbers to `count` scores or bounds: sums[i] = fma(weight, value, sums[i]), where value is f(x[i]), or
// above it by the margin.
//
//   x, sums  readable and writable up to a multiple of 8; what lies behind `count` is meaningless
void add_values(const NumberTerm& term, NumberTerm::Margin margin, const double* x, std::size_t count,
                double* sums);

// NumberTerm::value of one number. Loops over series, which need fused multiply-adds, are faster here.
double value_of(const NumberTerm& term, double x);

// Sets `highest` to the highest of `bounds` [kFanOut], none of them NaN, and returns the children that have it, as
// bits.
std::uint64_t highest_children(const double* bounds, double& highest);

// The targets that this machine can run, best first, by Highway's names ("AVX3", "AVX2", "EMU128").
std::vector<std::string> available_targets();
std::string current_target();
// Makes every kernel run on the named target; an empty name restores the best one. Throws InvalidArgument for a name
// that is not available. Must not be called during a search.
void force_target(std::string_view name);

}  // namespace culmen::simd
