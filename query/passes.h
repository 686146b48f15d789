// Whether a row passes a query's ranges, for those who read row by row. The kernels compare many rows at once
// (cpu/simd, gpu/search).
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

inline bool passes(const Snapshot& snapshot, const ResolvedQuery& query, std::uint64_t row) {
  return std::all_of(query.where.begin(), query.where.end(), [&](const RangePredicate& range) {
    const double value = snapshot.value(row, range.attribute);
    return value >= range.minimum && value <= range.maximum;
  });
}

}  // namespace culmen
