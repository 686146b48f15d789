#include "culmen/why.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "culmen/error.h"
#include "index/quantiles.h"

namespace culmen {
namespace {

struct RankedValue {
  double value = 0;
  bool is_missing = false;
};

// The value as the query ranks it.
RankedValue ranked_value(const Query& query, const Row& row, const IndexInfo& info, std::size_t i) {
  const AttributeInfo& attribute = info.attributes[i];
  RankedValue ranked = {row.values[i], std::isnan(row.values[i])};
  if (ranked.is_missing) {
    if (query.missing == Missing::skip) return {0, true};
    ranked.value = attribute.stand_in_value;
  }
  if (query.scale == Scale::minmax) {
    const double range = attribute.maximum - attribute.minimum;
    ranked.value = range > 0 ? (ranked.value - attribute.minimum) / range : 0;
  } else if (query.scale == Scale::zscore) {
    ranked.value = *attribute.deviation > 0 ? (ranked.value - *attribute.mean) / *attribute.deviation : 0;
  } else if (query.scale == Scale::rank) {
    ranked.value = RankCurve(*attribute.quantiles)(ranked.value);
  }
  return ranked;
}

void check(const Query& query, const Row& row, const IndexInfo& info) {
  if (query.weights.size() != info.attributes.size() || row.values.size() != info.attributes.size())
    throw InvalidArgument(std::to_string(query.weights.size()) + " weights and a row of " +
                          std::to_string(row.values.size()) + " values for " +
                          std::to_string(info.attributes.size()) + " attributes");
  const auto has_deviation = [](const AttributeInfo& attribute) { return attribute.deviation.has_value(); };
  if (query.scale == Scale::zscore && !std::ranges::all_of(info.attributes, has_deviation))
    throw InvalidArgument("the info has no deviations: Scale::zscore needs that of info(Scale::zscore)");
  const auto has_quantiles = [](const AttributeInfo& attribute) { return attribute.quantiles.has_value(); };
  if (query.scale == Scale::rank && !std::ranges::all_of(info.attributes, has_quantiles))
    throw InvalidArgument("the info has no quantiles: Scale::rank needs that of info(Scale::rank)");
}

}  // namespace

std::vector<ScorePart> score_parts(const Query& query, const Row& row, const IndexInfo& info) {
  check(query, row, info);
  std::vector<ScorePart> parts;
  for (std::size_t i = 0; i < query.weights.size(); ++i) {
    if (query.weights[i] == 0) continue;
    const auto [value, is_missing] = ranked_value(query, row, info, i);
    parts.push_back({info.attributes[i].name, query.weights[i], value, query.weights[i] * value, is_missing});
  }
  std::ranges::stable_sort(parts, std::greater(), [](const ScorePart& part) { return std::abs(part.part); });
  return parts;
}

std::vector<EvenWeight> even_weights(const Query& query, const Row& a, const Row& b, const IndexInfo& info) {
  check(query, a, info);
  check(query, b, info);
  if (!query.terms.empty())
    throw InvalidArgument(
        "weights that make two rows even are told of queries without terms besides the weights");
  double distance = 0;  // of the scores
  std::vector<double> differences;
  for (std::size_t i = 0; i < query.weights.size(); ++i) {
    const RankedValue of_a = ranked_value(query, a, info, i), of_b = ranked_value(query, b, info, i);
    const bool is_skipped = query.missing == Missing::skip && (of_a.is_missing || of_b.is_missing);
    if (is_skipped && query.weights[i] != 0) return {};
    differences.push_back(is_skipped ? 0 : of_a.value - of_b.value);
    distance = std::fma(query.weights[i], differences.back(), distance);
  }
  std::vector<EvenWeight> weights;
  for (std::size_t i = 0; i < query.weights.size(); ++i) {
    const double even = query.weights[i] - distance / differences[i];
    if (differences[i] != 0 && std::isfinite(even))
      weights.push_back({info.attributes[i].name, query.weights[i], even});
  }
  std::ranges::stable_sort(weights, std::less(),
                           [](const EvenWeight& weight) { return std::abs(weight.change()); });
  return weights;
}

}  // namespace culmen
