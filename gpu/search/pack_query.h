// Packs a ResolvedQuery for kernels.
#pragma once

#include <boost/container/static_vector.hpp>

#include "gpu/search/packed_query.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

// The query's filter; ranges on the same attribute become one.
using PackedRanges = boost::container::static_vector<PackedRange, kMaxPackedAttributes>;
PackedRanges merged_ranges(const ResolvedQuery& query);

// Bytes that pack_query will write.
std::size_t packed_bytes_of(const ResolvedQuery& query);

// Writes the query to `out`, which is aligned to 8.
void pack_query(const ResolvedQuery& query, std::byte* out);

}  // namespace culmen::gpu
