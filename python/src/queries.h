// Queries from Python objects.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"

namespace culmen::python {

namespace nb = nanobind;

// A dict of numbers by name, or a sequence or array with one number per attribute.
std::vector<double> weights_of(const Index& index, nb::handle weights);

// terms: as Index::terms reads them.
Query query_of(const Index& index, nb::handle weights, std::optional<std::size_t> k, nb::handle where,
               std::optional<double> min_score, std::string_view scale, std::string_view missing,
               std::string_view terms);

// An id as Python has it: a number, or a text.
using GivenId = std::variant<std::int64_t, std::string>;

Cursor cursor_of(double score, const GivenId& id);

// Query::after as (score, id), and Query::per as (column, most).
using GivenAfter = std::optional<std::tuple<double, GivenId>>;
using GivenPer = std::optional<std::tuple<std::string, std::size_t>>;

void set_page(const GivenAfter& after, const GivenPer& per, Query& query);

struct MatrixQuery {
  QueryBatch batch;
  bool has_k = true;  // false: all rows that reach min_score

  Query query(std::size_t number, std::size_t width) const;
};

// One query per row of a matrix [queries, attributes]. The result points into the matrix.
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
MatrixQuery matrix_query_of(const Index& index, const Matrix& weights, std::optional<std::size_t> k,
                            nb::handle where, std::optional<double> min_score, std::string_view scale,
                            std::string_view missing, std::string_view terms);

// Queries that each have a k, a filter and a min_score of their own: lists with one for each row of the matrix.
struct EachQuery {
  Matrix weights;
  nb::list ks, wheres, min_scores;  // int or None; as filter_of() takes it; float or None
  Scale scale = Scale::none;
  Missing missing = Missing::skip;
  std::vector<ScoreTerm> terms = {};

  std::size_t num_queries() const { return weights.shape(0); }
};

EachQuery each_query_of(const Index& index, const Matrix& weights, const nb::list& ks, const nb::list& wheres,
                        const nb::list& min_scores, std::string_view scale, std::string_view missing,
                        std::string_view terms);

// Those from `first` on, with the GIL. Errors of filters name the query; number_of_zero: of query 0, there. The lists are as
// long as the matrix.
std::vector<Query> queries_of(const Index& index, const EachQuery& each, std::size_t first, std::size_t count,
                              std::size_t number_of_zero = 0);

// Why the index refuses a query, if it does.
template <typename AnyIndex>
std::optional<std::string> refusal_of(const AnyIndex& index, const Query& query,
                                      const SearchOptions& options = {}) {
  try {
    static_cast<void>(index.score_bound(query, options));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return std::nullopt;
}

// For a search of several queries that was refused: throws the refusal of the first query that is refused by itself, with
// its number, counted from `first`. Returns if there is none.
template <typename AnyIndex>
void throw_refusal(const AnyIndex& index, std::span<const Query> queries, std::size_t first,
                   const SearchOptions& options = {}) {
  for (std::size_t q = 0; q < queries.size(); ++q)
    if (const std::optional<std::string> refusal = refusal_of(index, queries[q], options))
      throw InvalidArgument("query " + std::to_string(first + q) + ": " + *refusal);
}

// The same for queries that differ in their weights only. Returns as well if what they share is refused.
template <typename AnyIndex>
void throw_refusal(const AnyIndex& index, const MatrixQuery& queries, std::size_t width,
                   const SearchOptions& options = {}) {
  const std::size_t num_queries = width == 0 ? 0 : queries.batch.weights.size() / width;
  if (num_queries == 0) return;
  Query harmless = queries.query(0, width);
  harmless.weights.assign(width, 0.0);
  harmless.weights[0] = std::numeric_limits<double>::min();
  if (refusal_of(index, harmless, options)) return;
  for (std::size_t q = 0; q < num_queries; ++q) {
    const Query query = queries.query(q, width);
    throw_refusal(index, {&query, 1}, q, options);
  }
}

}  // namespace culmen::python
