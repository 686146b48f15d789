// The answers of a group whose devices hold parts of an index, from those of the parts.
#pragma once

#include <span>
#include <vector>

#include "culmen/search.h"

namespace culmen {

// parts[part][query], all of one version. Hits, and the sums of the work. k: the hits of each answer, at most.
std::vector<SearchResult> merge_results(std::vector<std::vector<SearchResult>> parts,
                                        std::span<const std::size_t> ks);
// parts[part], of the same width, which is at most that of `answers`. Writes all of these.
void merge_answers(std::span<const BatchAnswers> parts, const AnswerArrays& answers);

}  // namespace culmen
