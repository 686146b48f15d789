// Why a row scores what it scores: the part of each attribute, and what would swap two rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "culmen/info.h"
#include "culmen/query.h"
#include "culmen/search.h"

namespace culmen {

// What an attribute adds to a row's score: weight * value.
struct ScorePart {
  std::string attribute;
  double weight = 0;  // as in the query
  double value = 0;  // as it is ranked: with a Scale the scaled one, with Missing::fill possibly the stand-in
  double part = 0;   // weight * value, rounded once
  bool is_missing = false;  // the row has no value: the stand-in is ranked, or, with Missing::skip, nothing

  friend bool operator==(const ScorePart&, const ScorePart&) = default;
};

// The parts of the attributes whose weight is not 0, the largest magnitude first. Their sum is the score, but for rounding
// and for what Query::terms add;
// culmen::Index::rank_of has the exact one. `info`: of the index that the row is from, by Index::info(query.scale).
// Throws InvalidArgument if the query has not one weight for each attribute, or the row not one value.
[[nodiscard]] std::vector<ScorePart> score_parts(const Query& query, const Row& row, const IndexInfo& info);

// A weight with which two rows score the same, all other weights as they are: beyond it they have swapped.
struct EvenWeight {
  std::string attribute;
  double weight = 0;  // as it is
  double even = 0;    // rounded

  double change() const { return even - weight; }
};

// Of each attribute that the rows differ in, whatever its weight, the smallest change first. Empty if a row misses a value
// that is ranked. Throws as score_parts, and for queries with terms.
[[nodiscard]] std::vector<EvenWeight> even_weights(const Query& query, const Row& a, const Row& b,
                                                   const IndexInfo& info);

}  // namespace culmen
