// Packs the terms of a ResolvedQuery for kernels.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/search/packed_functions.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

// Whether it has a term of TermFunction::rank.
bool ranks_attributes(const FunctionTerms& functions);

// The bytes of PackedFunctions, a multiple of 8, also of a query without terms. curves: by attribute, in device memory, if
// it ranks_attributes().
std::vector<std::byte> pack_functions(const ResolvedQuery& query, std::span<const RankSteps> curves);

}  // namespace culmen::gpu
