#include "query/resolve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/suggestion.h"
#include "culmen/error.h"
#include "index/leaf_codes.h"
#include "index/read_session.h"
#include "index/snapshot_fields.h"
#include "index/text_rows.h"
#include "query/bound_plan.h"

namespace culmen {
namespace {

void check_weights(const std::vector<double>& weights, bool has_terms, const Snapshot& snapshot) {
  const auto d = static_cast<std::size_t>(snapshot.num_attributes());
  if (weights.size() != d)
    throw InvalidArgument(std::to_string(weights.size()) + " weights, but the index has " +
                          std::to_string(d) + (d == 1 ? " attribute: " : " attributes: ") +
                          known_attributes(snapshot));
  for (std::size_t i = 0; i < d; ++i)
    if (!std::isfinite(weights[i]))
      throw InvalidArgument("the weight of \"" + snapshot.attributes[i].name + "\" is not finite");
  if (!has_terms && std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; }))
    throw InvalidArgument(
        "all weights are zero, which ranks nothing: give one a weight, or add the term [id is not null], "
        "which scores all "
        "rows equally, so that they come in the order of their ids");
}

// Weights for (a - min) / (max - min): w / (max - min) each; adds the constant part to `offset`. A constant attribute
// is 0 when scaled, so its weight becomes 0.
std::vector<double> minmax_weights(const std::vector<double>& weights, const Snapshot& snapshot,
                                   const std::vector<AttributeStats>& ranges, double& offset) {
  std::vector<double> scaled(weights.size(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const AttributeStats& stats = ranges[i];
    const double range = stats.maximum - stats.minimum;  // negated values have the same range
    if (weights[i] == 0 || !(range > 0)) continue;
    scaled[i] = weights[i] / range;
    const bool low = snapshot.attributes[i].preference == Preference::low;
    offset = std::fma(-scaled[i], low ? -stats.maximum : stats.minimum, offset);
  }
  return scaled;
}

// Of the whole table, if the index holds a part of it.
const Spread& spread_of_attribute(std::size_t attribute, const Snapshot& snapshot,
                                  const TableStatistics* table) {
  if (table == nullptr) return snapshot.spreads()[attribute];
  const std::optional<Spread>& spread = table->attributes[attribute].spread;
  if (!spread)
    throw InvalidArgument(
        "the statistics have no deviations: Scale::zscore needs those of statistics(Scale::zscore)");
  return *spread;
}

// Weights for (a - mean) / deviation, as minmax_weights().
std::vector<double> zscore_weights(const std::vector<double>& weights, const Snapshot& snapshot,
                                   const TableStatistics* table, double& offset) {
  std::vector<double> scaled(weights.size(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const Spread& spread = spread_of_attribute(i, snapshot, table);
    if (!(spread.deviation > 0)) continue;
    scaled[i] = weights[i] / spread.deviation;
    offset = std::fma(-scaled[i], spread.mean, offset);
  }
  return scaled;
}

// What Scale::rank makes of the weights.
std::vector<ScoreTerm> rank_terms(const std::vector<double>& weights) {
  std::vector<ScoreTerm> terms;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] != 0)
      terms.push_back({.function = TermFunction::rank, .column = static_cast<int>(i), .weight = weights[i]});
  return terms;
}

// The oriented ranges of a whole table, without quanta. `fills`: with stand-ins counted where some row has them.
std::vector<AttributeStats> ranges_of(const TableStatistics& table, const Snapshot& snapshot, bool fills) {
  if (table.attributes.size() != snapshot.attributes.size())
    throw InvalidArgument("statistics of " + std::to_string(table.attributes.size()) +
                          " attributes for an index of " + std::to_string(snapshot.attributes.size()));
  std::vector<AttributeStats> ranges;
  for (std::size_t i = 0; i < table.attributes.size(); ++i) {
    const AttributeStatistics& given = table.attributes[i];
    const Preference preference = snapshot.attributes[i].preference;
    const double a = oriented(given.minimum, preference), b = oriented(given.maximum, preference);
    AttributeStats range = {std::min(a, b), std::max(a, b), kNoQuantum};
    if (fills && given.has_missing && given.stand_in) {
      const double stand_in = oriented(*given.stand_in, preference);
      if (!given.has_values) range = {stand_in, stand_in, kNoQuantum};
      add_value(range, stand_in);
    }
    ranges.push_back(range);
  }
  return ranges;
}

// The attributes with a weight that some row misses.
std::vector<std::int32_t> ranked_gaps(const std::vector<double>& weights, const Snapshot& snapshot) {
  std::vector<std::int32_t> attributes;
  if (snapshot.height == 0) return attributes;
  const ChildZonesRef root = snapshot.arena->child_zones(snapshot.root);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] != 0 && root.gaps(i).some_missing != 0) attributes.push_back(static_cast<std::int32_t>(i));
  return attributes;
}

ResolvedGroups resolve_groups(const RowsPer& per, const Snapshot& snapshot) {
  if (per.most == 0) throw InvalidArgument("at most 0 rows per \"" + per.column + "\"; ask for one at least");
  const auto attribute = std::ranges::find(snapshot.attributes, per.column, &Attribute::name);
  if (attribute != snapshot.attributes.end())
    return {true, static_cast<std::int32_t>(attribute - snapshot.attributes.begin()), per.most, {}};
  const auto field = std::ranges::find(snapshot.fields, per.column, &Field::name);
  if (field == snapshot.fields.end()) {
    std::vector<std::string> known;
    for (const Attribute& of : snapshot.attributes) known.push_back(of.name);
    for (const Field& of : snapshot.fields) known.push_back(of.name);
    throw InvalidArgument("rows per \"" + per.column + "\": there is no such column" +
                          known_columns(per.column, known));
  }
  if (field->role == FieldRole::stored && field->is_text())
    throw InvalidArgument("rows per \"" + per.column +
                          "\": the column is only stored; build it as a filter column");
  return {false, static_cast<std::int32_t>(field - snapshot.fields.begin()), per.most, {}};
}

}  // namespace

CodeTerms::CodeTerms(std::span<const Term> terms) {
  constexpr std::size_t kLanes = 8;  // of the longest vector
  const std::size_t padded = (terms.size() + kLanes - 1) / kLanes * kLanes;
  weights.assign(padded, 0.0);
  attributes.assign(padded, terms.back().attribute);
  are_neighbours = true;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    attributes[t] = terms[t].attribute;
    weights[t] = terms[t].weight;
    are_neighbours = are_neighbours && attributes[t] == attributes[0] + static_cast<std::int32_t>(t);
  }
}

std::string known_attributes(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const Attribute& attribute : snapshot.attributes) names.push_back(attribute.name);
  return list_of(names);
}

std::string known_columns(const std::string& name, const std::vector<std::string>& known,
                          std::string_view also) {
  std::string text = did_you_mean(name, known);
  const bool is_mistyped = !text.empty();
  text.append("; known: ").append(list_of(known)).append(also);
  if (!is_mistyped)
    text += "; a column that the build left out is not in the index: name it there (columns=, --columns)";
  return text;
}

std::string unknown_attribute(const std::string& name, const Snapshot& snapshot) {
  if (std::ranges::find(snapshot.fields, name, &Field::name) != snapshot.fields.end())
    return "no attribute \"" + name +
           "\": the build keeps that column for filters and answers, and does not rank it; known: " +
           known_attributes(snapshot);
  std::vector<std::string> known;
  for (const Attribute& attribute : snapshot.attributes) known.push_back(attribute.name);
  return "no attribute \"" + name + "\"" + known_columns(name, known);
}

int position_of(const AttributeRef& attribute, const Snapshot& snapshot) {
  if (const int* position = std::get_if<int>(&attribute)) {
    if (*position >= 0 && *position < snapshot.num_attributes()) return *position;
    throw InvalidArgument("there is no attribute " + std::to_string(*position) + ": the index has " +
                          std::to_string(snapshot.num_attributes()) + ", counted from 0");
  }
  const std::string& name = std::get<std::string>(attribute);
  const auto found = std::ranges::find(snapshot.attributes, name, &Attribute::name);
  if (found == snapshot.attributes.end()) throw InvalidArgument(unknown_attribute(name, snapshot));
  return static_cast<int>(found - snapshot.attributes.begin());
}

void resolve_filter(const Filter& filter, const Snapshot& snapshot, ResolvedQuery& query,
                    std::span<const std::int32_t> required) {
  if (filter.kind() == Filter::Kind::everything && required.empty()) return;
  query.filter = compile_filter(filter, snapshot, required);
  query.where = implied_ranges(query.filter);
  for (const RangePredicate& range : query.where)
    query.where_bounds.push_back(make_range_bound(range, snapshot));
}

std::size_t resolve_k(const Query& query, const Snapshot& snapshot) {
  if (query.k == std::size_t{0}) throw InvalidArgument("k is 0; ask for at least one row");
  if (!query.k && !query.min_score)
    throw InvalidArgument("neither k nor min_score is set: say how many rows, or above which score");
  const auto num_rows = static_cast<std::size_t>(snapshot.num_rows);
  return std::min(query.k.value_or(num_rows), num_rows);
}

double resolve_min_score(const std::optional<double>& min_score) {
  if (!min_score) return -std::numeric_limits<double>::infinity();
  if (std::isnan(*min_score)) throw InvalidArgument("min_score is NaN");
  return *min_score;
}

bool has_functions(const Query& query) {
  return !query.terms.empty() || query.scale == Scale::rank;
}

ResolvedQuery resolve(const Query& query, const Snapshot& snapshot, const TableStatistics* table) {
  const ReadSession session(snapshot);
  std::vector<ScoreTerm> terms = in_order(query.terms, snapshot);
  check_weights(query.weights, !terms.empty(), snapshot);
  std::vector<AttributeStats> of_table;
  if (table != nullptr) of_table = ranges_of(*table, snapshot, false);
  ResolvedQuery result;
  result.k = resolve_k(query, snapshot);
  result.min_score = resolve_min_score(query.min_score);
  if (query.after && std::isnan(query.after->score)) throw InvalidArgument("the score of `after` is NaN");
  result.after = query.after;
  if (query.after && query.after->text) {
    require_text_ids(snapshot);
    result.after->id = snapshot.text_rows().find(*query.after->text).id;
  }
  if (query.per) result.groups = resolve_groups(*query.per, snapshot);
  std::vector<double> weights = query.weights;
  if (query.scale == Scale::minmax)
    weights =
        minmax_weights(query.weights, snapshot, table == nullptr ? snapshot.stats : of_table, result.offset);
  if (query.scale == Scale::rank) {
    const std::vector<ScoreTerm> ranks = rank_terms(query.weights);
    terms.insert(terms.begin(), ranks.begin(), ranks.end());
    std::ranges::fill(weights, 0.0);
  }
  if (query.scale == Scale::zscore) weights = zscore_weights(query.weights, snapshot, table, result.offset);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const bool low = snapshot.attributes[i].preference == Preference::low;
    result.terms.push_back({static_cast<std::int32_t>(i), low ? -weights[i] : weights[i]});
  }
  // A scale over constant attributes only, or no weights but terms: every score starts at the offset. One term
  // that adds nothing spares the engines a special case.
  if (result.terms.empty()) result.terms.push_back({0, 0.0});
  // Weights that the scale drops count here: a row without the value has no score.
  const std::vector<std::int32_t> gaps = ranked_gaps(query.weights, snapshot);
  const bool fills = query.missing == Missing::fill && !gaps.empty();
  const std::vector<AttributeStats> filled = fills ? filled_stats(snapshot) : std::vector<AttributeStats>();
  const std::vector<AttributeStats>& stats = fills ? filled : snapshot.stats;
  if (table != nullptr && query.missing == Missing::fill) of_table = ranges_of(*table, snapshot, true);
  if (!terms.empty())
    result.functions = FunctionTerms(
        terms, snapshot, query.missing == Missing::fill ? filled_stats(snapshot) : snapshot.stats, table);
  const double of_weights = largest_score(result.chain(), table == nullptr ? stats.data() : of_table.data());
  result.largest = result.functions.largest(of_weights, snapshot, of_table);
  if (!std::isfinite(result.largest))
    throw InvalidArgument("the weights are so large that a score could overflow");
  result.codes = CodeTerms(result.score_terms());
  const Filter where =
      terms.empty() ? query.where : query.where && domains_of(terms, snapshot, query.missing);
  resolve_filter(where, snapshot, result, fills ? std::span<const std::int32_t>() : gaps);
  result.bound = make_bound_plan(result.chain(), result.where, snapshot, stats);
  if (!result.functions.empty())
    result.joint =
        join_terms(result.chain(), result.functions, result.where, snapshot, stats, result.largest);
  return result;
}

}  // namespace culmen
