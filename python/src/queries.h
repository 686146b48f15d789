// Queries from Python objects.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "culmen/index.h"

namespace culmen::python {

namespace nb = nanobind;

// A dict of numbers by name, or a sequence or array with one number per attribute.
std::vector<double> weights_of(const Index& index, nb::handle weights);

// terms: as Index::terms reads them.
Query query_of(const Index& index, nb::handle weights, std::optional<std::size_t> k, nb::handle where,
               std::optional<double> min_score, std::string_view scale, std::string_view missing,
               std::string_view terms);

struct MatrixQuery {
  QueryBatch batch;
  bool has_k = true;  // false: all rows that reach min_score
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

// Those from `first` on, with the GIL. Errors of filters name the query. The lists are as long as the matrix.
std::vector<Query> queries_of(const Index& index, const EachQuery& each, std::size_t first,
                              std::size_t count);

}  // namespace culmen::python
