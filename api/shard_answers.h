// The answers of a group whose devices hold parts of an index, from those of the parts.
#pragma once

#include <span>
#include <vector>

#include "culmen/search.h"

namespace culmen {

// parts[part][query], all of one version. Hits, and the sums of the work. k: the hits of each answer, at most.
std::vector<SearchResult> merge_results(std::vector<std::vector<SearchResult>> parts,
                                        std::span<const std::size_t> ks);
// parts[part], each as wide as `answers`, which has the shape and is filled.
void merge_answers(std::span<const BatchAnswers> parts, BatchAnswers& answers);

}  // namespace culmen
