#include "queries.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "culmen/error.h"
#include "filters.h"
#include "names.h"
#include "numbers.h"

namespace culmen::python {
namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

std::vector<double> named_weights(const Index& index, const nb::dict& named) {
  std::vector<std::pair<std::string, double>> pairs;
  pairs.reserve(named.size());
  for_each_item(named, [&](const nb::object& name, const nb::object& weight) {
    if (!nb::isinstance<nb::str>(name))
      throw InvalidArgument("weights are named by attributes, that is by text");
    pairs.emplace_back(nb::cast<std::string>(name), number(weight, "a weight"));
  });
  return index.weights(pairs);
}

void check_width(const Index& index, const Matrix& weights) {
  const std::size_t width = index.info().attributes.size();
  if (weights.shape(1) != width)
    throw InvalidArgument("the matrix of weights has " + std::to_string(weights.shape(1)) + " columns for " +
                          std::to_string(width) + " attributes");
}

}  // namespace

std::vector<double> weights_of(const Index& index, nb::handle weights) {
  if (nb::isinstance<nb::dict>(weights)) return named_weights(index, nb::borrow<nb::dict>(weights));
  Vector array;
  if (nb::try_cast(weights, array, false)) {
    std::vector<double> values(array.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = array(i);
    return values;
  }
  if (!nb::hasattr(weights, "__iter__"))
    throw InvalidArgument(
        "weights are a dict of numbers by name, one number an attribute, or a matrix [queries, "
        "attributes]");
  std::vector<double> values;
  for (const nb::handle weight : nb::iter(weights)) values.push_back(number(weight, "a weight"));
  return values;
}

Query query_of(const Index& index, nb::handle weights, std::optional<std::size_t> k, nb::handle where,
               std::optional<double> min_score, std::string_view scale, std::string_view missing,
               std::string_view terms) {
  return {.weights = weights_of(index, weights),
          .k = k,
          .where = filter_of(index, where),
          .min_score = min_score,
          .scale = kScales.parse(scale),
          .missing = kMissing.parse(missing),
          .terms = index.terms(terms)};
}

Cursor cursor_of(double score, const GivenId& id) {
  if (const auto* text = std::get_if<std::string>(&id)) return {.score = score, .text = *text};
  return {.score = score, .id = std::get<std::int64_t>(id)};
}

void set_page(const GivenAfter& after, const GivenPer& per, Query& query) {
  if (after) query.after = cursor_of(std::get<0>(*after), std::get<1>(*after));
  if (per) query.per = RowsPer{std::get<0>(*per), std::get<1>(*per)};
}

MatrixQuery matrix_query_of(const Index& index, const Matrix& weights, std::optional<std::size_t> k,
                            nb::handle where, std::optional<double> min_score, std::string_view scale,
                            std::string_view missing, std::string_view terms) {
  check_width(index, weights);
  return {{.weights = std::span(weights.data(), weights.size()),
           .k = k.value_or(0),
           .where = filter_of(index, where),
           .min_score = min_score,
           .scale = kScales.parse(scale),
           .missing = kMissing.parse(missing),
           .terms = index.terms(terms)},
          k.has_value()};
}

Query MatrixQuery::query(std::size_t number, std::size_t width) const {
  const std::span<const double> weights = batch.weights.subspan(number * width, width);
  return {.weights = {weights.begin(), weights.end()},
          .k = has_k ? std::optional(batch.k) : std::nullopt,
          .where = batch.where,
          .min_score = batch.min_score,
          .scale = batch.scale,
          .missing = batch.missing,
          .terms = batch.terms};
}

EachQuery each_query_of(const Index& index, const Matrix& weights, const nb::list& ks, const nb::list& wheres,
                        const nb::list& min_scores, std::string_view scale, std::string_view missing,
                        std::string_view terms) {
  check_width(index, weights);
  return {weights, ks, wheres, min_scores, kScales.parse(scale), kMissing.parse(missing), index.terms(terms)};
}

std::vector<Query> queries_of(const Index& index, const EachQuery& each, std::size_t first, std::size_t count,
                              std::size_t number_of_zero) {
  const std::size_t width = each.weights.shape(1);
  std::vector<Query> queries(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t q = first + i;
    const double* const weights = each.weights.data() + q * width;
    queries[i] = {.weights = {weights, weights + width},
                  .k = nb::cast<std::optional<std::size_t>>(each.ks[q]),
                  .min_score = nb::cast<std::optional<double>>(each.min_scores[q]),
                  .scale = each.scale,
                  .missing = each.missing,
                  .terms = each.terms};
    try {
      queries[i].where = filter_of(index, each.wheres[q]);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument("query " + std::to_string(number_of_zero + q) + ": " + error.what());
    }
  }
  return queries;
}

}  // namespace culmen::python
