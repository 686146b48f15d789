// Scores of rows of a leaf with the terms besides the weights (query/function_terms.h), many rows at a time.
#pragma once

#include <cstddef>
#include <span>

#include "cpu/simd/kernels.h"
#include "index/snapshot.h"
#include "query/function_terms.h"

namespace culmen {

// The scores of listed rows of the leaf, which the domains let pass, from those of their weights: as FunctionTerms::add.
// Keeps those that reach the k-th score bound, and returns how many.
//
// T: the type of the snapshot's values.
template <typename T>
std::size_t add_functions(const FunctionTerms& terms, const Snapshot& snapshot, std::size_t leaf,
                          double kth_bound, std::span<simd::ScoredRow> scored);

}  // namespace culmen
