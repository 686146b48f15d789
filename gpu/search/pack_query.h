// Packs a ResolvedQuery for kernels.
#pragma once

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cstddef>

#include "culmen/query.h"
#include "gpu/search/packed_query.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

// The ranges that the query's filter implies. What they leave open is for its predicate (pack_predicate.h).
using PackedRanges = boost::container::static_vector<PackedRange, kMaxPackedRanges>;
// Throws InvalidArgument if they are more.
PackedRanges packed_ranges(const ResolvedQuery& query);

// The query has no more packed ranges; one, that no row is in, if no row can pass. is_skipping: it may skip rows that miss
// values.
inline std::size_t max_ranges_of(const Query& query, bool is_skipping) {
  const std::size_t least = query.where.kind() == Filter::Kind::everything && !is_skipping ? 0 : 1;
  return std::max(query.where.num_conditions(), least) +
         query.terms.size();  // a term demands a value that it takes
}

// Bytes that pack_query will write.
std::size_t packed_bytes_of(const ResolvedQuery& query);

// Writes the query to `out`, which is aligned to 8. parts: PackedHeader::parts.
void pack_query(const ResolvedQuery& query, std::byte* out, const void* parts = nullptr);
// Of a packed query.
void set_parts(std::byte* packed, const void* parts);

}  // namespace culmen::gpu
