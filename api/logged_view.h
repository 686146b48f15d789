// LoggedView: what searches of a version with LoggedRows (index/logged_rows.h) need besides its two trees.
#pragma once

#include <mutex>
#include <optional>

#include "culmen/filter.h"
#include "culmen/query.h"
#include "culmen/statistics.h"
#include "index/logged_rows.h"
#include "index/snapshot.h"

namespace culmen {

// Of a version that is one tree. With what queries of this scale need.
TableStatistics statistics_of(const Snapshot& tree, Scale scale = Scale::none);

class LoggedView {
 public:
  // Cost: two searches of the base for each attribute, if rows of it were erased: these may have had the extremes.
  explicit LoggedView(const Snapshot& version);

  // The filter for the base: without the rows that were erased.
  Filter of_base(const Filter& where) const { return has_erased_ ? where && kept_ : where; }
  Query of_base(Query query) const {
    query.where = of_base(query.where);
    return query;
  }
  // Of all rows of the version.
  const TableStatistics& statistics() const { return statistics_; }
  // With what queries of this scale need: for Scale::zscore the first call computes it. `version`: that of the constructor.
  const TableStatistics& statistics(Scale scale, const Snapshot& version) const;
  // Those that a caller has given, of the table that the version is a part of; null: these.
  const TableStatistics& statistics(const TableStatistics* given, Scale scale,
                                    const Snapshot& version) const {
    return given == nullptr ? statistics(scale, version) : *given;
  }

 private:
  TableStatistics statistics_of_base(const LoggedRows& logged) const;

  bool has_erased_;
  Filter kept_;
  TableStatistics statistics_;
  mutable std::mutex mutex_;
  mutable std::optional<TableStatistics> with_spreads_, with_quantiles_;
};

}  // namespace culmen
