// Checks single rows against a query's ranges. The kernels compare many rows at once (cpu/simd, gpu/search).
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

// value(i) is attribute i, oriented.
template <typename Value>
bool passes(const ResolvedQuery& query, const Value& value) {
  return std::all_of(query.where.begin(), query.where.end(), [&](const RangePredicate& range) {
    const double x = value(range.attribute);
    return x >= range.minimum && x <= range.maximum;
  });
}

inline bool passes(const Snapshot& snapshot, const ResolvedQuery& query, std::uint64_t row) {
  return passes(query, [&](std::int32_t attribute) { return snapshot.value(row, attribute); });
}

}  // namespace culmen
