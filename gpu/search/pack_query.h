// Packs a ResolvedQuery for kernels.
#pragma once

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cstddef>

#include "culmen/filter.h"
#include "gpu/search/packed_query.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

// The query's filter. Throws InvalidArgument unless it is a conjunction of ranges: GPU engines test nothing else.
using PackedRanges = boost::container::static_vector<PackedRange, kMaxPackedAttributes>;
PackedRanges packed_ranges(const ResolvedQuery& query);

// No query with this filter has more packed ranges; one, that no row is in, if no row can pass, as where an attribute
// has only gaps.
inline std::size_t max_ranges_of(const Filter& filter, bool has_gaps) {
  if (filter.kind() == Filter::Kind::everything && !has_gaps) return 0;
  return std::max<std::size_t>(filter.num_conditions(), 1);
}

// Bytes that pack_query will write.
std::size_t packed_bytes_of(const ResolvedQuery& query);

// Writes the query to `out`, which is aligned to 8.
void pack_query(const ResolvedQuery& query, std::byte* out);

}  // namespace culmen::gpu
