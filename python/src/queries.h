// Queries as Python states them.
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

// A dict of numbers by name, or a sequence or array of one number an attribute.
std::vector<double> weights_of(const Index& index, nb::handle weights);

Query query_of(const Index& index, nb::handle weights, std::optional<std::size_t> k, nb::handle where,
               std::optional<double> min_score, std::string_view scale);

struct Questions {
  QueryBatch batch;
  bool has_k = true;  // false: all rows that reach min_score
};

// The rows of a matrix [questions, attributes], which it points into.
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
Questions questions_of(const Index& index, const Matrix& weights, std::optional<std::size_t> k,
                       nb::handle where, std::optional<double> min_score, std::string_view scale);

}  // namespace culmen::python
