#include "query/function_terms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include "base/number_text.h"
#include "culmen/error.h"
#include "index/score.h"
#include "index/snapshot_fields.h"
#include "query/filter_column.h"
#include "query/filter_words.h"
#include "query/literal.h"
#include "query/resolve.h"

namespace culmen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool has_scale(TermFunction function) {
  return is_decay(function) || function == TermFunction::saturate;
}

std::string_view name_of(TermFunction function) {
  switch (function) {
    case TermFunction::near:
      return "near";
    case TermFunction::decay_linear:
    case TermFunction::decay_exp:
    case TermFunction::decay_gauss:
      return "decay";
    case TermFunction::log:
      return "log";
    case TermFunction::log1p:
      return "log1p";
    case TermFunction::sqrt:
      return "sqrt";
    case TermFunction::saturate:
      return "saturate";
    case TermFunction::rank:
      return "rank";
    case TermFunction::when:
      break;
  }
  return "when";
}

std::string_view shape_of(TermFunction function) {
  return function == TermFunction::decay_linear  ? "linear"
         : function == TermFunction::decay_gauss ? "gauss"
                                                 : "exp";
}

// ---- From users

bool is_equality(const ScoreTerm& term) {
  return term.condition.kind() == Filter::Kind::condition &&
         term.condition.condition().comparison == Comparison::equal;
}

// Conditions that a column has some value stand together.
int group_of(const ScoreTerm& term) {
  return term.function != TermFunction::when ? 0 : is_equality(term) ? 1 : 2;
}

void check(const ScoreTerm& term) {
  if (term.function == TermFunction::rank)
    throw InvalidArgument("rank is not a score term; Query::scale ranks by it");
  if (!std::isfinite(term.weight))
    throw InvalidArgument("the weight of " + term.function_text() + " is not finite");
  if (has_scale(term.function) && !(term.scale > 0 && term.scale < kInfinity))
    throw InvalidArgument(
        std::string(term.function == TermFunction::saturate ? "the half of " : "the scale of ") +
        term.function_text() + " must be above 0 and finite");
  if (term.function == TermFunction::when && term.condition.kind() == Filter::Kind::everything)
    throw InvalidArgument("a score term for a condition has none");
}

// The column of a function.
FilterColumn column_of(const ScoreTerm& term, const Snapshot& snapshot) {
  const FilterColumn column = filter_column(Column(term.column), snapshot);
  if (column.kind == FilterColumn::Kind::id)
    throw InvalidArgument(term.function_text() + ": ids are no numbers to score by");
  if (term.function == TermFunction::rank) return column;
  const ColumnType type = format_of(column, snapshot).type;
  const bool holds_times = type == ColumnType::date || type == ColumnType::timestamp;
  const bool holds_numbers = type == ColumnType::floating || type == ColumnType::integer;
  if (!holds_numbers && !(holds_times && has_peak(term.function)))
    throw InvalidArgument(term.function_text() + ": " + shown_column(column, snapshot) +
                          " does not hold numbers" +
                          (has_peak(term.function) ? ", dates or timestamps" : ""));
  return column;
}

double ticks_of(const ColumnFormat& format) {
  if (format.type != ColumnType::timestamp) return 1;
  switch (format.unit) {
    case TimeUnit::second:
      return 1;
    case TimeUnit::millisecond:
      return 1e3;
    case TimeUnit::microsecond:
      return 1e6;
    case TimeUnit::nanosecond:
      break;
  }
  return 1e9;
}

// The origin in the column's unit: days, seconds, or the number itself. That of an instant is computed as that of a value of the
// column is, if it could be one: then it is at a distance of 0 from it.
double origin_of(const ScoreTerm& term, const FilterColumn& column, const Snapshot& snapshot) {
  if (!has_peak(term.function)) return 0;
  const std::string fault = fault_of_literal(column, term.origin, snapshot);
  if (!fault.empty()) throw InvalidArgument(term.function_text() + ": " + fault);
  double origin = 0;
  if (is_number(term.origin)) {
    origin = nearest_double(term.origin);
  } else {
    const ColumnFormat& format = format_of(column, snapshot);
    const auto [at_most, at_least] = limits_of<std::int64_t>(term.origin, format);
    origin = at_most && at_most == at_least ? static_cast<double>(*at_most) / ticks_of(format)
                                            : number_of_instant(std::get<std::string>(term.origin), format);
  }
  if (!std::isfinite(origin))
    throw InvalidArgument("the origin of " + term.function_text() + " is not finite");
  return origin;
}

// Of the whole table, if the index holds a part of it.
const std::vector<double>& quantiles_of_attribute(std::size_t attribute, const Snapshot& snapshot,
                                                  const TableStatistics* table) {
  if (table == nullptr) return snapshot.known_quantiles()[attribute];
  const std::optional<std::vector<double>>& quantiles = table->attributes[attribute].quantiles;
  if (!quantiles)
    throw InvalidArgument(
        "the statistics have no quantiles: Scale::rank needs those of statistics(Scale::rank)");
  return *quantiles;
}

NumberTerm number_term(const ScoreTerm& term, const Snapshot& snapshot,
                       std::span<const AttributeStats> ranges, const TableStatistics* table) {
  const FilterColumn column = column_of(term, snapshot);
  const ColumnFormat& format = format_of(column, snapshot);
  NumberTerm result{{.function = term.function,
                     .weight = term.weight,
                     .origin = origin_of(term, column, snapshot),
                     .scale = term.scale,
                     .is_field = column.kind == FilterColumn::Kind::field,
                     .column = column.position}};
  result.is_floating = format.type == ColumnType::floating;
  if (term.function != TermFunction::rank) result.ticks = ticks_of(format);
  if (result.is_field) return result;
  const auto i = static_cast<std::size_t>(column.position);
  result.negated = snapshot.attributes[i].preference == Preference::low;
  result.minimum = ranges[i].minimum;
  result.maximum = ranges[i].maximum;
  if (term.function == TermFunction::rank)
    result.set_curve(std::make_shared<const RankCurve>(quantiles_of_attribute(i, snapshot, table)));
  return result;
}

// The key that rows must have, if that is all that the predicate demands.
std::optional<std::int64_t> only_key(const Predicate& predicate) {
  if (predicate.kind != Predicate::Kind::field || predicate.passes_missing || predicate.keys.size() != 1)
    return {};
  const Interval<std::int64_t>& keys = predicate.keys.front();
  return keys.minimum == keys.maximum ? std::optional(keys.minimum) : std::nullopt;
}

// Of the numbers that the term is a function of.
std::pair<double, double> range_of(const NumberTerm& term, const Snapshot& snapshot,
                                   std::span<const AttributeStats> ranges) {
  if (term.is_field) {
    const ColumnSummary keys = summary_of_index(snapshot, term.column);
    if (!keys.some_present) return {0, 0};
    return {term.of_key(keys.minimum), term.of_key(keys.maximum)};
  }
  double first = term.minimum, last = term.maximum;
  if (!ranges.empty()) {
    first = ranges[static_cast<std::size_t>(term.column)].minimum;
    last = ranges[static_cast<std::size_t>(term.column)].maximum;
  }
  if (first > last) return {0, 0};  // no row has a value
  const double a = term.of_stored(first), b = term.of_stored(last);
  return term.negated ? std::pair(b, a) : std::pair(a, b);
}

// ---- Scores

double add_number(const NumberTerm& term, const Snapshot& snapshot, std::uint64_t row, double score) {
  const auto leaf_rows = static_cast<std::uint64_t>(snapshot.leaf_rows);
  const double x = term.is_field
                       ? term.of_key(snapshot.leaf_fields(row / leaf_rows)
                                         .key(static_cast<std::size_t>(term.column), row % leaf_rows))
                       : term.of_stored(snapshot.value(row, term.column));
  return score_step(score, term.weight, term.value(x));
}

}  // namespace

std::string ScoreTerm::function_text() const {
  if (function == TermFunction::when) return "[" + condition.text() + "]";
  std::string text = std::string(name_of(function)) + "(" + column_text(Column(column));
  if (has_peak(function)) text += ", " + literal_text(origin);
  if (has_scale(function)) text += ", " + number_text(scale);
  if (is_decay(function)) text += ", " + std::string(shape_of(function));
  return text + ")";
}

std::string ScoreTerm::text() const {
  return weight == 1 ? function_text() : number_text(weight) + " * " + function_text();
}

std::vector<ScoreTerm> in_order(std::vector<ScoreTerm> terms, const Snapshot& snapshot) {
  std::vector<std::tuple<int, std::string, std::size_t>> order;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    check(terms[i]);
    if (terms[i].weight == 0) continue;
    if (const int* position = std::get_if<int>(&terms[i].column);
        position != nullptr && group_of(terms[i]) == 0)
      terms[i].column = snapshot.attributes[static_cast<std::size_t>(position_of(*position, snapshot))].name;
    order.emplace_back(group_of(terms[i]), terms[i].function_text(), i);
  }
  std::ranges::sort(order);
  std::vector<ScoreTerm> sorted;
  for (const auto& [group, text, i] : order) {
    if (!sorted.empty() && sorted.back().function_text() == text)
      throw InvalidArgument("the score term " + text + " is there twice");
    sorted.push_back(std::move(terms[i]));
  }
  return sorted;
}

Filter domains_of(std::span<const ScoreTerm> terms, const Snapshot& snapshot, Missing missing) {
  std::vector<Filter> domains;
  for (const ScoreTerm& term : terms) {
    if (term.function == TermFunction::when || term.function == TermFunction::rank) continue;
    const FilterColumn found = column_of(term, snapshot);
    const Column column(term.column);
    const bool is_log = term.function == TermFunction::log;
    Filter takes = has_peak(term.function) ? column.is_not_null() : is_log ? column > 0.0 : column >= 0.0;
    if (missing == Missing::fill && found.kind == FilterColumn::Kind::attribute) {
      const auto i = static_cast<std::size_t>(found.position);
      if (snapshot.stand_ins.empty()) continue;  // nor is there a row
      const double stand_in = oriented(snapshot.stand_ins[i], snapshot.attributes[i].preference);
      if (has_peak(term.function)) continue;
      if (is_log ? stand_in > 0 : stand_in >= 0) takes = takes || column.is_null();
    }
    domains.push_back(std::move(takes));
  }
  return Filter::all_of(domains);
}

double NumberTerm::largest(double first, double last) const {
  if (function == TermFunction::saturate && last + scale == kInfinity)
    return kInfinity;  // x / (x + h) would be 0
  NumberTerm lifts = *this, lowers = *this;
  lifts.weight = 1;
  lowers.weight = -1;
  return std::fmax(std::fabs(lifts.highest(first, last)), std::fabs(lowers.highest(first, last)));
}

const double* CategoryTerm::weight_of(const LeafFields& fields, std::size_t row) const {
  const auto column = static_cast<std::size_t>(field);
  return fields.misses_field(column, row) ? nullptr : by_key().weight_of(fields.key(column, row));
}

FunctionTerms::FunctionTerms(std::span<const ScoreTerm> terms, const Snapshot& snapshot,
                             std::span<const AttributeStats> ranges, const TableStatistics* table) {
  for (const ScoreTerm& term : terms) {
    if (term.function != TermFunction::when) {
      terms_.emplace_back(number_term(term, snapshot, ranges, table));
      continue;
    }
    Predicate predicate = compile_filter(term.condition, snapshot);
    const std::optional<std::int64_t> key = is_equality(term) ? only_key(predicate) : std::nullopt;
    if (predicate.is_nothing()) continue;
    if (!key) {
      terms_.emplace_back(ConditionTerm{term.weight, std::move(predicate)});
      continue;
    }
    CategoryTerm* last = terms_.empty() ? nullptr : std::get_if<CategoryTerm>(&terms_.back());
    if (last == nullptr || last->field != predicate.column || last->by_key().weight_of(*key) != nullptr)
      last = &std::get<CategoryTerm>(terms_.emplace_back(CategoryTerm{predicate.column, {}}));
    last->weights.insert(last->weights.begin() + last->by_key().first_from(*key), {*key, term.weight});
  }
}

double FunctionTerms::largest(double of_weights, const Snapshot& snapshot,
                              std::span<const AttributeStats> ranges) const {
  double size = of_weights;
  for (const Term& term : terms_) {
    if (const auto* number = std::get_if<NumberTerm>(&term)) {
      const auto [first, last] = range_of(*number, snapshot, ranges);
      size = score_step(size, std::fabs(number->weight), number->largest(first, last));
    } else if (const auto* category = std::get_if<CategoryTerm>(&term)) {
      double largest = 0;
      for (const auto& [key, weight] : category->weights) largest = std::fmax(largest, std::fabs(weight));
      size += largest;
    } else {
      size += std::fabs(std::get<ConditionTerm>(term).weight);
    }
  }
  return size;
}

double FunctionTerms::add(const Snapshot& snapshot, std::uint64_t row, double score) const {
  const auto leaf_rows = static_cast<std::uint64_t>(snapshot.leaf_rows);
  for (const Term& term : terms_) {
    if (const auto* number = std::get_if<NumberTerm>(&term)) {
      score = add_number(*number, snapshot, row, score);
    } else if (const auto* category = std::get_if<CategoryTerm>(&term)) {
      const double* weight = category->weight_of(snapshot.leaf_fields(row / leaf_rows), row % leaf_rows);
      if (weight != nullptr) score += *weight;
    } else {
      const auto& condition = std::get<ConditionTerm>(term);
      if (passes(snapshot, condition.predicate, row)) score += condition.weight;
    }
  }
  return score_finish(score);
}

}  // namespace culmen
