// Packs a Predicate for kernels.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu/search/packed_predicate.h"
#include "query/predicate.h"

namespace culmen::gpu {

// The bytes of a PackedPredicate that tests what the ranges packed with the query (pack_query.h) leave open. Empty:
// they decide everything. has_ranked: begins with a test of QueryRef::ranked_gaps.
std::vector<std::byte> pack_predicate(const Predicate& predicate, bool has_ranked = false);

}  // namespace culmen::gpu
