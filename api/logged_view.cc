#include "api/logged_view.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/floating_point_scope.h"
#include "base/lock_isolated.h"
#include "cpu/bounded.h"
#include "culmen/id_set.h"
#include "culmen/search.h"
#include "index/snapshot_fields.h"
#include "query/resolve.h"

namespace culmen {
namespace {

std::vector<Hit> best_of(const Snapshot& tree, const Query& query) {
  SearchStats stats;
  const ResolvedQuery resolved = resolve(query, tree);
  if (resolved.filter.is_nothing()) return {};
  return cpu::search_bounded(tree, resolved, stats);
}

// The largest value of weight * attribute among the rows that pass and have one.
std::optional<double> most_of(const Snapshot& tree, std::size_t attribute, double weight,
                              const Filter& where) {
  Query query;
  query.weights.assign(tree.attributes.size(), 0.0);
  query.weights[attribute] = weight;
  query.k = 1;
  query.where = where;
  const std::vector<Hit> best = best_of(tree, query);
  return best.empty() ? std::nullopt : std::optional(best.front().score);
}

// Whether a row that passes misses the attribute.
bool has_gap(const Snapshot& tree, std::size_t attribute, const Filter& where) {
  Query query;
  query.weights.assign(tree.attributes.size(), 0.0);
  query.weights[attribute] = 1;
  query.k = 1;
  query.where = where && col(static_cast<int>(attribute)).is_null();
  query.missing = Missing::fill;
  return !best_of(tree, query).empty();
}

// What queries of the scale need besides.
void add_for_scale(const Snapshot& version, std::size_t attribute, Scale scale, AttributeStatistics& of) {
  if (scale == Scale::zscore) of.spread = version.spreads()[attribute];
  if (scale == Scale::rank) of.quantiles = version.known_quantiles()[attribute];
}

IdSet erased_ids(const Snapshot& version) {
  const std::span<const std::int64_t> erased = version.logged->erased;
  return version.id_type == IdType::text ? IdSet::of_stand_ins(erased) : IdSet(erased, version.id_type);
}

}  // namespace

TableStatistics statistics_of(const Snapshot& s, Scale scale) {
  TableStatistics statistics = {.num_rows = s.num_rows, .attributes = {}};
  for (std::size_t i = 0; i < s.attributes.size(); ++i) {
    const Preference preference = s.attributes[i].preference;
    const double a = oriented(s.stats[i].minimum, preference), b = oriented(s.stats[i].maximum, preference);
    const ChildGaps gaps = gaps_of_index(s, static_cast<std::int32_t>(i));
    AttributeStatistics& of = statistics.attributes.emplace_back();
    of = {.minimum = std::min(a, b),
          .maximum = std::max(a, b),
          .has_values = s.num_rows > 0 && gaps.some_present != 0,
          .has_missing = gaps.some_missing != 0};
    if (!s.stand_ins.empty()) of.stand_in = oriented(s.stand_ins[i], preference);
    add_for_scale(s, i, scale, of);
  }
  return statistics;
}

LoggedView::LoggedView(const Snapshot& version)
    : has_erased_(!version.logged->erased.empty()), kept_(!Filter::ids_in(erased_ids(version))) {
  const FloatingPointScope floating_point;
  const TableStatistics parts[] = {statistics_of_base(*version.logged), statistics_of(*version.logged->rows)};
  statistics_ = merge(parts);
}

const TableStatistics& LoggedView::statistics(Scale scale, const Snapshot& version) const {
  if (scale != Scale::zscore && scale != Scale::rank) return statistics_;
  std::optional<TableStatistics>& wanted = scale == Scale::zscore ? with_spreads_ : with_quantiles_;
  lock_isolated(mutex_, [&] {
    if (wanted) return;
    TableStatistics statistics = statistics_;
    for (std::size_t i = 0; i < statistics.attributes.size(); ++i)
      add_for_scale(version, i, scale, statistics.attributes[i]);
    wanted = std::move(statistics);
  });
  return *wanted;
}

TableStatistics LoggedView::statistics_of_base(const LoggedRows& logged) const {
  const Snapshot& base = *logged.base;
  TableStatistics statistics = statistics_of(base);
  statistics.num_rows -= logged.erased.size();
  if (!has_erased_) return statistics;
  for (std::size_t i = 0; i < statistics.attributes.size(); ++i) {
    AttributeStatistics& of = statistics.attributes[i];
    const std::optional<double> largest = most_of(base, i, 1, kept_);
    const std::optional<double> smallest = most_of(base, i, -1, kept_);
    of.has_values = largest.has_value();
    of.maximum = largest.value_or(0);
    of.minimum = smallest ? 0.0 - *smallest : 0;
    of.has_missing = of.has_missing && has_gap(base, i, kept_);
  }
  return statistics;
}

}  // namespace culmen
