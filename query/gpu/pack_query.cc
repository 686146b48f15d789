#include "query/gpu/pack_query.h"

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cmath>

namespace culmen::gpu {
namespace {

using Ranges = boost::container::static_vector<PackedRange, kMaxPackedAttributes>;

Ranges merged_ranges(const ResolvedQuery& query) {
  Ranges merged;
  for (std::size_t r = 0; r < query.where.size(); ++r) {
    const RangePredicate& range = query.where[r];
    const RangeBound& bound = query.bound.ranges[r];
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const PackedRange& other) {
      return other.attribute == range.attribute;
    });
    if (same == merged.end()) {
      merged.push_back({range.minimum, range.maximum, bound.lowest, bound.highest, range.attribute,
                        bound.maximum_row, bound.minimum_row, 0});
    } else {
      same->minimum = std::max(same->minimum, range.minimum);
      same->maximum = std::min(same->maximum, range.maximum);
      same->lowest = std::max(same->lowest, bound.lowest);
      same->highest = std::min(same->highest, bound.highest);
    }
  }
  return merged;
}

}  // namespace

std::size_t packed_bytes_of(const ResolvedQuery& query) {
  return packed_bytes(static_cast<int>(query.terms.size()), static_cast<int>(query.bound.terms.size()),
                      static_cast<int>(merged_ranges(query).size()));
}

void pack_query(const ResolvedQuery& query, std::byte* out) {
  const Ranges ranges = merged_ranges(query);
  auto* header = reinterpret_cast<PackedHeader*>(out);
  const int exponent = std::clamp(std::ilogb(query.bound.magnitude), -1000, 1000);
  *header = {query.offset,
             query.bound.base,
             query.min_score,
             std::ldexp(1.0, -exponent),
             std::ldexp(1.0, exponent),
             static_cast<std::int32_t>(query.terms.size()),
             static_cast<std::int32_t>(query.bound.terms.size()),
             static_cast<std::int32_t>(ranges.size()),
             0};
  auto* terms = reinterpret_cast<PackedTerm*>(header + 1);
  terms = std::transform(query.terms.begin(), query.terms.end(), terms, [](const Term& term) {
    return PackedTerm{term.weight, term.attribute, 0};
  });
  auto* bound_terms = reinterpret_cast<PackedBoundTerm*>(terms);
  bound_terms = std::transform(query.bound.terms.begin(), query.bound.terms.end(), bound_terms,
                               [](const BoundTerm& term) {
                                 return PackedBoundTerm{term.coefficient, term.row, 0};
                               });
  std::copy(ranges.begin(), ranges.end(), reinterpret_cast<PackedRange*>(bound_terms));
}

}  // namespace culmen::gpu
