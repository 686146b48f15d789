// The oracle for tables with fields and missing values: SQL's WHERE with its three-valued logic, evaluated on the tree of
// the filter as it is written and on the rows as the user gave them. It shares only score() with the index.
#pragma once

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/elementary.h"
#include "culmen/query.h"
#include "culmen/search.h"
#include "index/score.h"
#include "tests/oracle.h"

namespace culmen::test {

// SQL's.
enum class Truth { no, unknown, yes };

inline Truth operator!(Truth truth) {
  return truth == Truth::yes ? Truth::no : truth == Truth::no ? Truth::yes : Truth::unknown;
}

// Nanoseconds since 1970 of '2025-06-01', '2025-06-01 12:30', '2025-06-01 12:30:05.25' and '2025-06-01T12:30:05+02:00'.
// The text is well-formed.
inline __int128 nanoseconds_of(const std::string& text) {
  std::size_t at = 0;
  const auto number = [&](std::size_t digits) {
    int value = 0;
    for (; digits > 0; --digits) value = value * 10 + (text[at++] - '0');
    return value;
  };
  const auto takes = [&](char wanted) {
    const bool is_next = at < text.size() && text[at] == wanted;
    at += is_next ? 1 : 0;
    return is_next;
  };
  const int year = number(4);
  ++at;
  const auto month = static_cast<unsigned>(number(2));
  ++at;
  const auto day = static_cast<unsigned>(number(2));
  const std::chrono::sys_days days =
      std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day);
  __int128 seconds = __int128{days.time_since_epoch().count()} * 86'400;
  std::string fraction;
  if (takes('T') || takes(' ')) {
    seconds += number(2) * 3600;
    ++at;
    seconds += number(2) * 60;
    if (takes(':')) seconds += number(2);
    if (takes('.'))
      while (at < text.size() && text[at] >= '0' && text[at] <= '9') fraction += text[at++];
    const int sign = takes('+') ? 1 : takes('-') ? -1 : 0;
    if (sign != 0) {
      seconds -= sign * number(2) * 3600;
      if (takes(':') || at < text.size()) seconds -= sign * number(2) * 60;
    }
  }
  fraction.resize(9, '0');
  return seconds * 1'000'000'000 + std::stoll(fraction);
}

// The mean of the numbers as the nearest number of type T, of two the one whose last bit is 0.
template <typename T>
double exact_mean_of(std::span<const double> values) {
  using boost::multiprecision::cpp_int;
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const auto exact = [](double value) {  // in units of 2^-1074
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);
    const auto digits = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
    const int shift = exponent - 53 + 1074;
    return shift >= 0 ? cpp_int(cpp_int(digits) * (cpp_int(1) << shift))
                      : cpp_int(digits / (std::int64_t{1} << -shift));
  };
  const auto count = static_cast<std::int64_t>(values.size());
  cpp_int sum = 0;
  for (const double value : values) sum += exact(value);
  const bool is_negative = sum < 0;
  if (is_negative) sum = -sum;
  // The largest number that is not above the quotient. Numbers from 0 on are ordered as their bits.
  const auto number = [](Bits bits) { return std::bit_cast<T>(bits); };
  Bits low = 0, high = std::bit_cast<Bits>(std::numeric_limits<T>::max());
  while (low < high) {
    const Bits middle = low + (high - low + 1) / 2;
    if (exact(static_cast<double>(number(middle))) * count <= sum) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  if (low < std::bit_cast<Bits>(std::numeric_limits<T>::max())) {
    const cpp_int below = sum - exact(static_cast<double>(number(low))) * count;
    const cpp_int above = exact(static_cast<double>(number(low + 1))) * count - sum;
    if (above < below || (above == below && low % 2 != 0)) ++low;
  }
  const auto nearest = static_cast<double>(number(low));
  return (is_negative ? -nearest : nearest) + 0.0;
}

// Of the first rows of an index: what its attributes' missing values are ranked as with Missing::fill.
inline std::vector<double> stand_ins_of_rows(const std::vector<Attribute>& attributes,
                                             const std::vector<Row>& rows, bool is_float32) {
  std::vector<double> result;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    std::vector<double> values;
    for (const Row& row : rows)
      if (!std::isnan(row.values[i])) values.push_back(row.values[i]);
    std::sort(values.begin(), values.end());
    const auto mean = [is_float32](std::span<const double> of) {
      return is_float32 ? exact_mean_of<float>(of) : exact_mean_of<double>(of);
    };
    double value = 0;
    if (attributes[i].stand_in == StandIn::number) {
      value =
          is_float32 ? static_cast<double>(static_cast<float>(attributes[i].number)) : attributes[i].number;
    } else if (!values.empty()) {
      const std::size_t n = values.size();
      if (attributes[i].stand_in == StandIn::mean) {
        value = mean(values);
      } else if (attributes[i].stand_in == StandIn::median) {
        value = mean(std::span(values).subspan((n - 1) / 2, n % 2 == 1 ? 1 : 2));
      } else {
        value = attributes[i].preference == Preference::low ? values.back() : values.front();
      }
    }
    result.push_back(is_float32 ? static_cast<double>(static_cast<float>(value)) : value);
  }
  return result;
}

// Of the rows of a build, each attribute's: what Scale::rank goes by.
inline std::vector<std::vector<double>> quantiles_of_rows(std::size_t num_attributes,
                                                          const std::vector<Row>& rows) {
  std::vector<std::vector<double>> quantiles(rows.empty() ? 0 : num_attributes);
  for (std::size_t i = 0; i < quantiles.size(); ++i) {
    std::vector<double> values;
    for (const Row& row : rows)
      if (!std::isnan(row.values[i])) values.push_back(row.values[i] + 0.0);
    std::sort(values.begin(), values.end());
    const std::size_t last = values.size() - 1, steps = std::min<std::size_t>(last, 256);
    if (values.size() <= 1) {
      quantiles[i] = values;
      continue;
    }
    for (std::size_t j = 0; j <= steps; ++j) quantiles[i].push_back(values[j * last / steps]);
  }
  return quantiles;
}

class FieldOracle {
 public:
  // stand_ins: [num_attributes] with the signs that the user gives them. quantiles: of the build; empty: none.
  FieldOracle(Schema schema, std::vector<Row> rows, std::vector<double> stand_ins,
              std::vector<std::vector<double>> quantiles = {})
      : schema_(std::move(schema)),
        rows_(std::move(rows)),
        stand_ins_(std::move(stand_ins)),
        quantiles_(std::move(quantiles)) {
    stand_ins_.resize(num_attributes());
  }

  const Schema& schema() const { return schema_; }
  const std::vector<Row>& rows() const { return rows_; }
  std::size_t num_attributes() const { return schema_.attributes.size(); }
  bool has_quantiles() const { return !quantiles_.empty(); }

  bool has_gaps(std::size_t attribute) const {
    return std::any_of(rows_.begin(), rows_.end(),
                       [attribute](const Row& row) { return std::isnan(row.values[attribute]); });
  }

  // Whether a score could overflow, which the contract refuses.
  bool refuses(const Query& query) const {
    const EffectiveWeights weights = effective(query);
    double size = std::fabs(weights.offset);
    for (const Term& term : weights.terms) {
      const auto i = static_cast<std::size_t>(term.attribute);
      double largest = 0;
      for (const Row& row : rows_) {
        const double value =
            std::isnan(row.values[i]) && query.missing == Missing::fill ? stand_ins_[i] : row.values[i];
        if (!std::isnan(value)) largest = std::max(largest, std::fabs(scaled(i, value, query.scale)));
      }
      if (!rows_.empty()) size += std::fabs(term.weight) * largest;
    }
    for (const ScoreTerm& term : query.terms) {
      if (term.weight == 0) continue;
      double largest = 0;
      for (const Row& row : rows_) {
        const std::optional<double> value = value_of(row, term, query.missing);
        if (!value) continue;
        largest = std::max(largest, std::fabs(*value));
        if (term.function == TermFunction::saturate &&
            std::isinf(*argument_of(row, term, query.missing) + term.scale))
          return true;
      }
      size += std::fabs(term.weight) * largest;
    }
    return !std::isfinite(size);
  }

  // Of a row that has a score.
  double score_of(const Row& row, const Query& query) const {
    return with_terms(row, query, score_of(row, effective(query), query.scale));
  }

  bool passes(const Row& row, const Filter& filter) const { return evaluate(row, filter) == Truth::yes; }
  // With Missing::skip, rows without a value that the query weighs have no score.
  bool has_score(const Row& row, const Query& query) const {
    for (const ScoreTerm& term : query.terms)
      if (term.weight != 0 && !value_of(row, term, query.missing)) return false;
    if (query.missing == Missing::fill) return true;
    for (std::size_t i = 0; i < num_attributes(); ++i)
      if (query.weights[i] != 0 && std::isnan(row.values[i])) return false;
    return true;
  }

  std::vector<Answer> search(const Query& query) const {
    const EffectiveWeights weights = effective(query);
    std::vector<Answer> answers;
    for (const Row& row : rows_) {
      if (!has_score(row, query) || !passes(row, query.where)) continue;
      const double score = with_terms(row, query, score_of(row, weights, query.scale));
      if (!query.min_score || score >= *query.min_score) answers.push_back({row.id, score});
    }
    return best(std::move(answers), query.k);
  }

  static std::vector<Answer> best(std::vector<Answer> answers, std::optional<std::size_t> k) {
    std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    });
    if (k && answers.size() > *k) answers.resize(*k);
    return answers;
  }

  Truth evaluate(const Row& row, const Filter& filter) const {
    const std::vector<Filter>& parts = filter.parts();
    switch (filter.kind()) {
      case Filter::Kind::everything:
        return Truth::yes;
      case Filter::Kind::condition:
        return evaluate(row, filter.condition());
      case Filter::Kind::id_set:
        return filter.ids().contains(row.id) ? Truth::yes : Truth::no;
      case Filter::Kind::negation:
        return !evaluate(row, parts.front());
      case Filter::Kind::all_of: {
        Truth all = Truth::yes;
        for (const Filter& part : parts) all = std::min(all, evaluate(row, part));
        return all;
      }
      case Filter::Kind::any_of:
        break;
    }
    Truth any = Truth::no;
    for (const Filter& part : parts) any = std::max(any, evaluate(row, part));
    return any;
  }

  // What the term's function is of; none: the row misses it.
  std::optional<double> argument_of(const Row& row, const ScoreTerm& term, Missing missing) const {
    const Cell found = cell(row, Column(term.column));
    if (const Exact* const exact = std::get_if<Exact>(&found.value))
      return static_cast<double>(*exact) / ticks_of(found.format);
    for (std::size_t i = 0; i < num_attributes() && missing == Missing::fill; ++i)
      if (term.column == AttributeRef(static_cast<int>(i)) ||
          term.column == AttributeRef(schema_.attributes[i].name))
        return stand_ins_[i];
    return std::nullopt;
  }

 private:
  static double ticks_of(const ColumnFormat& format) {
    return format.type == ColumnType::timestamp ? std::pow(1000.0, static_cast<int>(format.unit)) : 1;
  }

  static double origin_of(const ScoreTerm& term, const ColumnFormat& format) {
    if (const double* const number = std::get_if<double>(&term.origin)) return *number;
    if (const std::int64_t* const integer = std::get_if<std::int64_t>(&term.origin))
      return static_cast<double>(*integer);
    if (const LargeInteger* const large = std::get_if<LargeInteger>(&term.origin))
      return static_cast<double>(large->value);
    const __int128 nanoseconds = nanoseconds_of(std::get<std::string>(term.origin));
    if (format.type == ColumnType::timestamp) {
      const __int128 unit = 1'000'000'000 / static_cast<std::int64_t>(ticks_of(format));
      if (nanoseconds % unit == 0)
        return static_cast<double>(static_cast<std::int64_t>(nanoseconds / unit)) / ticks_of(format);
    }
    const __int128 seconds = nanoseconds / 1'000'000'000 - (nanoseconds % 1'000'000'000 < 0 ? 1 : 0);
    const double rest =
        static_cast<double>(static_cast<std::int64_t>(nanoseconds - seconds * 1'000'000'000)) / 1e9;
    const double sum = static_cast<double>(static_cast<std::int64_t>(seconds)) + rest;
    return format.type == ColumnType::date ? sum / 86'400 : sum;
  }

  // None: the row misses the column, or the function does not take its value.
  std::optional<double> value_of(const Row& row, const ScoreTerm& term, Missing missing) const {
    if (term.function == TermFunction::when) return passes(row, term.condition) ? 1 : 0;
    const std::optional<double> x = argument_of(row, term, missing);
    if (!x) return std::nullopt;
    const double distance = std::fabs(*x - origin_of(term, cell(row, Column(term.column)).format));
    const double scaled = distance / term.scale;
    switch (term.function) {
      case TermFunction::near:
        return -distance;
      case TermFunction::decay_linear:
        return std::max(0.0, 1 - scaled / 2);
      case TermFunction::decay_exp:
        return exp2_of_minus(scaled);
      case TermFunction::decay_gauss:
        return exp2_of_minus(scaled * scaled);
      default:
        break;
    }
    if (*x < 0 || (*x == 0 && term.function == TermFunction::log)) return std::nullopt;
    if (term.function == TermFunction::log) return log_of(*x);
    if (term.function == TermFunction::log1p) return log_of(1 + *x);
    return term.function == TermFunction::sqrt ? std::sqrt(*x) : *x / (*x + term.scale);
  }

  // Functions first, then conditions `column = value`, then others; by their texts.
  double with_terms(const Row& row, const Query& query, double score) const {
    std::vector<std::tuple<int, std::string, const ScoreTerm*>> order;
    for (ScoreTerm term : query.terms) {
      if (term.weight == 0) continue;
      const bool is_condition = term.function == TermFunction::when;
      const bool is_equality = is_condition && term.condition.kind() == Filter::Kind::condition &&
                               term.condition.condition().comparison == Comparison::equal;
      const ScoreTerm& same = *std::find(query.terms.begin(), query.terms.end(), term);
      if (const int* const position = std::get_if<int>(&term.column); position != nullptr && !is_condition)
        term.column = schema_.attributes[static_cast<std::size_t>(*position)].name;
      order.emplace_back(!is_condition ? 0 : is_equality ? 1 : 2, term.function_text(), &same);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [group, text, term] : order)
      score = std::fma(term->weight, *value_of(row, *term, query.missing), score);
    return score + 0.0;
  }

  // Of the values that are there.
  EffectiveWeights effective(const Query& query) const {
    const auto range_of = [this](std::size_t i) {
      double minimum = std::numeric_limits<double>::infinity(), maximum = -minimum;
      for (const Row& row : rows_) {
        if (std::isnan(row.values[i])) continue;
        minimum = std::min(minimum, row.values[i]);
        maximum = std::max(maximum, row.values[i]);
      }
      return std::pair(minimum, maximum);
    };
    return effective_weights(query, num_attributes(), range_of, [this](std::size_t i) {
      Moments moments;
      for (const Row& row : rows_)
        if (!std::isnan(row.values[i])) moments.add(row.values[i]);
      return moments;
    });
  }

  double score_of(const Row& row, const EffectiveWeights& weights, Scale scale) const {
    return score(weights.terms, weights.offset, [&](int attribute) {
      const auto i = static_cast<std::size_t>(attribute);
      return scaled(i, std::isnan(row.values[i]) ? stand_ins_[i] : row.values[i], scale);
    });
  }

  // Other scales than rank change the weights.
  double scaled(std::size_t attribute, double value, Scale scale) const {
    return scale == Scale::rank ? rank_of(quantiles_[attribute], value) : value;
  }

  static double rank_of(const std::vector<double>& quantiles, double x) {
    if (quantiles.empty() || x < quantiles.front()) return 0;
    const auto place = [&](double value) {
      return static_cast<double>(std::lower_bound(quantiles.begin(), quantiles.end(), value) -
                                 quantiles.begin());
    };
    const double steps = quantiles.size() == 1 ? 1 : static_cast<double>(quantiles.size() - 1);
    const auto next = std::upper_bound(quantiles.begin(), quantiles.end(), x);
    const double below = *(next - 1);
    if (next == quantiles.end()) return place(below) / steps;
    const double most = std::numeric_limits<double>::max();
    const double part = std::min(x - below, most) / std::min(*next - below, most);
    return std::fma(part, place(*next) - place(below), place(below)) / steps;
  }

  // Holds every double and every int64 exactly.
  using Exact = long double;
  static_assert(std::numeric_limits<Exact>::digits >= 64);

  struct Cell {
    std::variant<std::monostate, Exact, std::string> value;
    ColumnFormat format;
  };

  Cell attribute_cell(const Row& row, std::size_t i) const {
    if (std::isnan(row.values[i])) return {std::monostate(), schema_.attributes[i].format};
    return {static_cast<Exact>(row.values[i]), schema_.attributes[i].format};
  }

  Cell cell(const Row& row, const Column& column) const {
    if (!column.attribute()) return {static_cast<Exact>(row.id), {ColumnType::integer}};
    if (const int* position = std::get_if<int>(&*column.attribute()))
      return attribute_cell(row, static_cast<std::size_t>(*position));
    const std::string& name = std::get<std::string>(*column.attribute());
    for (std::size_t i = 0; i < num_attributes(); ++i)
      if (schema_.attributes[i].name == name) return attribute_cell(row, i);
    for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
      if (schema_.fields[f].name != name) continue;
      Cell found = {std::monostate(), schema_.fields[f].format};
      const FieldValue& value = row.fields[f];
      if (const auto* integer = std::get_if<std::int64_t>(&value)) found.value = static_cast<Exact>(*integer);
      if (const auto* number = std::get_if<double>(&value)) found.value = static_cast<Exact>(*number);
      if (const auto* text = std::get_if<std::string>(&value)) found.value = *text;
      return found;
    }
    return {static_cast<Exact>(row.id), {ColumnType::integer}};  // "id"
  }

  // Of a value that is there: -1, 0 or 1.
  static int compare(const Cell& cell, const Literal& literal) {
    const auto order = [](const auto& a, const auto& b) { return a < b ? -1 : b < a ? 1 : 0; };
    if (const auto* text = std::get_if<std::string>(&cell.value))
      return order(*text, std::get<std::string>(literal));
    const Exact number = std::get<Exact>(cell.value);
    if (const auto* text = std::get_if<std::string>(&literal)) {
      __int128 unit = 1;
      for (int u = static_cast<int>(cell.format.unit); u < 3; ++u) unit *= 1000;
      if (cell.format.type == ColumnType::date) unit = __int128{86'400} * 1'000'000'000;
      return order(static_cast<__int128>(static_cast<std::int64_t>(number)) * unit, nanoseconds_of(*text));
    }
    if (const auto* integer = std::get_if<std::int64_t>(&literal))
      return order(number, static_cast<Exact>(*integer));
    if (const auto* large = std::get_if<LargeInteger>(&literal))
      return order(number, static_cast<Exact>(large->value));
    return order(number, static_cast<Exact>(std::get<double>(literal)));
  }

  Truth evaluate(const Row& row, const Condition& condition) const {
    const Cell found = cell(row, condition.column);
    const bool is_missing = std::holds_alternative<std::monostate>(found.value);
    const auto truth = [](bool yes) { return yes ? Truth::yes : Truth::no; };
    if (condition.comparison == Comparison::is_null) return truth(is_missing);
    if (condition.comparison == Comparison::is_not_null) return truth(!is_missing);
    if (is_missing) return Truth::unknown;
    const auto order = [&](std::size_t i) { return compare(found, condition.values[i]); };
    switch (condition.comparison) {
      case Comparison::equal:
        return truth(order(0) == 0);
      case Comparison::not_equal:
        return truth(order(0) != 0);
      case Comparison::less:
        return truth(order(0) < 0);
      case Comparison::less_equal:
        return truth(order(0) <= 0);
      case Comparison::greater:
        return truth(order(0) > 0);
      case Comparison::greater_equal:
        return truth(order(0) >= 0);
      case Comparison::between:
        return truth(order(0) >= 0 && order(1) <= 0);
      case Comparison::starts_with:
        return truth(
            std::get<std::string>(found.value).starts_with(std::get<std::string>(condition.values[0])));
      default:
        break;
    }
    for (std::size_t i = 0; i < condition.values.size(); ++i)
      if (order(i) == 0) return Truth::yes;
    return Truth::no;
  }

  Schema schema_;
  std::vector<Row> rows_;
  std::vector<double> stand_ins_;
  std::vector<std::vector<double>> quantiles_;
};

}  // namespace culmen::test
