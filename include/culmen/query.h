// Queries: weights, k and a filter. docs/contract.md has the rules for answers (order, ties, k, NaN).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "culmen/filter.h"
#include "culmen/score_term.h"

namespace culmen {

enum class Scale : std::uint8_t {
  none,    // weights apply to the attributes as they are
  minmax,  // weights apply to (a - min) / (max - min), with the index's own minimum and maximum
  zscore,  // weights apply to (a - mean) / (standard deviation), also of the index itself (docs/contract.md)
  rank,    // weights apply to the share of the build's rows with lower values (docs/contract.md)
};

// What a query does with rows that miss an attribute whose weight is not 0.
enum class Missing : std::uint8_t {
  skip,  // they are not in the answer, as SQL ranks no NULL
  fill,  // the attribute's stand-in is ranked (Attribute::stand_in)
};

// A place in the order of answers: behind a row of this score and id, or where one would be.
struct Cursor {
  double score = 0;
  std::int64_t id = 0;
  std::optional<std::string> text = {};  // of IdType::text, instead of what stands in for it

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

// At most so many rows for each value of a column, an attribute or a filter column. Rows without a value are a group, too.
struct RowsPer {
  std::string column;
  std::size_t most = 1;  // 1 or more

  friend bool operator==(const RowsPer&, const RowsPer&) = default;
};

struct Query {
  // [num_attributes] finite, at least one not zero unless there are terms; 0 = attribute not used
  std::vector<double> weights;
  // The number of rows, 1 or more; if fewer pass, all of them. nullopt, only with min_score: every row that reaches it.
  std::optional<std::size_t> k = 10;
  Filter where = {};
  std::optional<double> min_score = {};  // only rows with score >= min_score
  Scale scale = Scale::none;             // of the weights, and not of terms
  Missing missing = Missing::skip;
  std::vector<ScoreTerm> terms = {};  // added to the score, in any order
  // Only rows behind this place: the next page, if it is the last hit of the page before. Pages over one version, joined,
  // are the one long answer.
  std::optional<Cursor> after = {};
  // The best rows of each group alone count, inside of the search: k rows come back if there are so many. Those of pages
  // before `after` count, too. On a GPU that is one search, and at most one more for each group that fills, and for each
  // 1,024 rows before `after`.
  std::optional<RowsPer> per = {};
};

// Many queries that differ in their weights alone.
struct QueryBatch {
  std::span<const double> weights;  // [num_queries][num_attributes], each row as in Query::weights
  std::size_t k = 10;               // 1 or more
  Filter where = {};
  std::optional<double> min_score = {};
  Scale scale = Scale::none;
  Missing missing = Missing::skip;
  std::vector<ScoreTerm> terms = {};  // as in Query
};

}  // namespace culmen
