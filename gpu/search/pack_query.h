// Packs a ResolvedQuery for kernels.
#pragma once

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cstddef>

#include "culmen/filter.h"
#include "gpu/search/packed_query.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

// The ranges that the query's filter implies. What they leave open is for its predicate (pack_predicate.h).
using PackedRanges = boost::container::static_vector<PackedRange, kMaxPackedRanges>;
// Throws InvalidArgument if they are more.
PackedRanges packed_ranges(const ResolvedQuery& query);

// No query with this filter has more packed ranges; one, that no row is in, if no row can pass. is_skipping: the query
// may skip rows that miss values.
inline std::size_t max_ranges_of(const Filter& filter, bool is_skipping) {
  const std::size_t least = filter.kind() == Filter::Kind::everything && !is_skipping ? 0 : 1;
  return std::max(filter.num_conditions(), least);
}

// Bytes that pack_query will write.
std::size_t packed_bytes_of(const ResolvedQuery& query);

// Writes the query to `out`, which is aligned to 8. `predicate`: that of its filter in device memory, if it has one.
void pack_query(const ResolvedQuery& query, std::byte* out, const PackedPredicate* predicate = nullptr);
// Sets the predicate of a packed query.
void set_predicate(std::byte* packed, const PackedPredicate* predicate);

}  // namespace culmen::gpu
