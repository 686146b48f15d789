// The oracle: the contract (docs/contract.md) implemented in the plainest way on the user's own table. It scores every
// row, keeps the k best and sorts them. It shares only score() and Moments (tests/base/moments_test.cc has their oracle)
// with the index: no orientation, no leaves, no bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/moments.h"
#include "culmen/query.h"
#include "culmen/table.h"
#include "index/score.h"

namespace culmen::test {

struct Answer {
  std::int64_t id;
  double score;
};

inline double value_at(const ColumnView& column, std::size_t row) {
  const std::byte* at = column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes;
  switch (column.type) {
    case ElementType::float32:
      return static_cast<double>(*reinterpret_cast<const float*>(at));
    case ElementType::float64:
      return *reinterpret_cast<const double*>(at);
    case ElementType::int32:
      return static_cast<double>(*reinterpret_cast<const std::int32_t*>(at));
    case ElementType::int64:
      break;
  }
  return static_cast<double>(*reinterpret_cast<const std::int64_t*>(at));
}

// The weights of a score's chain.
struct EffectiveWeights {
  std::vector<Term> terms;
  double offset = 0;
};

// Scale::minmax means sum w_i (a_i - min_i) / (max_i - min_i). By contract that is the chain over the weights w'_i = w_i
// / (max_i - min_i), rounded once each, begun at the fma chain of -w'_i * min_i; a constant attribute has no scale and
// drops out. range_of(i) returns the minimum and maximum of an attribute; the minimum is the larger if it has no value.
// Scale::zscore is the same with mean and deviation, those of moments_of(i), in place of minimum and range.
template <typename RangeOf, typename MomentsOf>
EffectiveWeights effective_weights(const Query& query, std::size_t num_attributes, const RangeOf& range_of,
                                   const MomentsOf& moments_of) {
  EffectiveWeights result;
  for (std::size_t i = 0; i < num_attributes; ++i) {
    double weight = query.weights[i];
    if (query.scale == Scale::minmax) {
      const auto [minimum, maximum] = range_of(i);
      weight = maximum > minimum ? weight / (maximum - minimum) : 0;
      if (weight != 0) result.offset = std::fma(-weight, minimum, result.offset);
    } else if (query.scale == Scale::zscore && weight != 0) {
      const Moments moments = moments_of(i);
      weight = moments.deviation() > 0 ? weight / moments.deviation() : 0;
      if (weight != 0) result.offset = std::fma(-weight, moments.mean(), result.offset);
    }
    if (weight != 0) result.terms.push_back({static_cast<std::int32_t>(i), weight});
  }
  return result;
}

class Oracle {
 public:
  // as_float32: the index was told to round values to float32, so its answers are about the rounded table.
  Oracle(const TableView& table, bool as_float32) : num_attributes_(table.columns.size()) {
    minimum_.assign(num_attributes_, std::numeric_limits<double>::infinity());
    maximum_.assign(num_attributes_, -std::numeric_limits<double>::infinity());
    for (std::size_t row = 0; row < table.num_rows; ++row) {
      ids_.push_back(table.ids.empty() ? static_cast<std::int64_t>(row) : table.ids[row]);
      for (std::size_t i = 0; i < num_attributes_; ++i) {
        const double given = value_at(table.columns[i], row);
        values_.push_back(as_float32 ? static_cast<double>(static_cast<float>(given)) : given);
        minimum_[i] = std::min(minimum_[i], values_.back());
        maximum_[i] = std::max(maximum_[i], values_.back());
      }
    }
  }

  std::size_t num_rows() const { return ids_.size(); }
  std::size_t num_attributes() const { return num_attributes_; }
  std::int64_t id(std::size_t row) const { return ids_[row]; }
  double value(std::size_t row, std::size_t attribute) const {
    return values_[row * num_attributes_ + attribute];
  }

  double largest_size(std::size_t attribute) const {
    return std::max(std::fabs(minimum_[attribute]), std::fabs(maximum_[attribute]));
  }

  // Whether a score could overflow, which the contract refuses.
  bool refuses(const Query& query) const {
    const EffectiveWeights weights = effective(query);
    double size = std::fabs(weights.offset);
    for (const Term& term : weights.terms) {
      const auto i = static_cast<std::size_t>(term.attribute);
      if (ids_.empty()) continue;
      size += std::fabs(term.weight) * largest_size(i);
    }
    return !std::isfinite(size);
  }

  double score_of(std::size_t row, const Query& query) const {
    const EffectiveWeights weights = effective(query);
    return score_of(row, weights);
  }

  // Evaluates the filter as it is written. Its attributes are given by position.
  bool passes(std::size_t row, const Filter& filter) const {
    const std::vector<Filter>& parts = filter.parts();
    const auto part_passes = [&](const Filter& part) { return passes(row, part); };
    switch (filter.kind()) {
      case Filter::Kind::everything:
        return true;
      case Filter::Kind::condition:
        return passes(row, filter.condition());
      case Filter::Kind::id_set:
        return filter.ids().contains(ids_[row]);
      case Filter::Kind::negation:
        return !part_passes(parts.front());
      case Filter::Kind::all_of:
        return std::all_of(parts.begin(), parts.end(), part_passes);
      case Filter::Kind::any_of:
        break;
    }
    return std::any_of(parts.begin(), parts.end(), part_passes);
  }

  std::vector<Answer> search(const Query& query) const {
    const EffectiveWeights weights = effective(query);
    std::vector<Answer> answers;
    for (std::size_t row = 0; row < ids_.size(); ++row) {
      const double score = score_of(row, weights);
      if (passes(row, query.where) && (!query.min_score || score >= *query.min_score))
        answers.push_back({ids_[row], score});
    }
    const auto is_before = [](const Answer& a, const Answer& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    };
    if (query.k && answers.size() > *query.k) {
      const auto first_left_out = answers.begin() + static_cast<std::ptrdiff_t>(*query.k);
      std::nth_element(answers.begin(), first_left_out, answers.end(), is_before);
      answers.resize(*query.k);
    }
    std::sort(answers.begin(), answers.end(), is_before);
    return answers;
  }

 private:
  EffectiveWeights effective(const Query& query) const {
    return effective_weights(
        query, num_attributes_, [this](std::size_t i) { return std::pair(minimum_[i], maximum_[i]); },
        [this](std::size_t i) {
          Moments moments;
          for (std::size_t row = 0; row < ids_.size(); ++row) moments.add(value(row, i));
          return moments;
        });
  }

  double score_of(std::size_t row, const EffectiveWeights& weights) const {
    const double* values = values_.data() + row * num_attributes_;
    return score(weights.terms, weights.offset, [values](int attribute) { return values[attribute]; });
  }

  // Holds every double and every int64 exactly.
  using Exact = long double;
  static_assert(std::numeric_limits<Exact>::digits >= 64);

  bool passes(std::size_t row, const Condition& condition) const {
    const std::optional<AttributeRef>& attribute = condition.column.attribute();
    const Exact x = attribute
                        ? static_cast<Exact>(value(row, static_cast<std::size_t>(std::get<int>(*attribute))))
                        : static_cast<Exact>(ids_[row]);
    const auto literal = [&](std::size_t i) {
      if (const auto* integer = std::get_if<std::int64_t>(&condition.values[i]))
        return static_cast<Exact>(*integer);
      return static_cast<Exact>(std::get<double>(condition.values[i]));
    };
    switch (condition.comparison) {
      case Comparison::equal:
        return x == literal(0);
      case Comparison::not_equal:
        return x != literal(0);
      case Comparison::less:
        return x < literal(0);
      case Comparison::less_equal:
        return x <= literal(0);
      case Comparison::greater:
        return x > literal(0);
      case Comparison::greater_equal:
        return x >= literal(0);
      case Comparison::between:
        return x >= literal(0) && x <= literal(1);
      case Comparison::starts_with:
      case Comparison::is_null:
        return false;
      case Comparison::is_not_null:
        return true;
      case Comparison::in:
        break;
    }
    for (std::size_t i = 0; i < condition.values.size(); ++i)
      if (x == literal(i)) return true;
    return false;
  }

  std::size_t num_attributes_;
  std::vector<double> values_;  // [num_rows][num_attributes] as the index must see them
  std::vector<double> minimum_, maximum_;
  std::vector<std::int64_t> ids_;
};

}  // namespace culmen::test
