// Packs for kernels the terms of a ResolvedQuery, and the page that it wants.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/search/packed_functions.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

// Whether kernels of QueryKind::with_functions are to answer it.
bool needs_functions(const ResolvedQuery& query);
bool needs_functions(const Query& query);

// Whether it has a term of TermFunction::rank.
bool ranks_attributes(const FunctionTerms& functions);

// The bytes of PackedFunctions, a multiple of 8, also of a query that does not need them. curves: by attribute, in device memory, if
// it ranks_attributes().
std::vector<std::byte> pack_functions(const ResolvedQuery& query, std::span<const RankSteps> curves);

}  // namespace culmen::gpu
