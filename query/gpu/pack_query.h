// From ResolvedQuery to PackedQuery.
#pragma once

#include "index/resolved_query.h"
#include "query/gpu/packed_query.h"

namespace culmen::gpu {

// Bytes that pack_query will write.
std::size_t packed_bytes_of(const ResolvedQuery& query);

// Writes the query to `out`, which is aligned to 8. Ranges on the same attribute become one.
void pack_query(const ResolvedQuery& query, std::byte* out);

}  // namespace culmen::gpu
