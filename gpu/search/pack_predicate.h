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
// The bytes of one that tests all of it, where no ranges go with it. Empty: every row passes.
std::vector<std::byte> pack_whole_predicate(const Predicate& predicate);

}  // namespace culmen::gpu
