// Converts a QueryBatch to queries, and their hits to the flat arrays of BatchAnswers.
#pragma once

#include <span>
#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"

namespace culmen {

// Throws InvalidArgument for k = 0 and weights that are not a whole number of rows.
std::vector<Query> queries_of(const QueryBatch& batch, const Snapshot& snapshot);

// Allocates the arrays and fills them with empty answers.
BatchAnswers make_answers(const QueryBatch& batch, std::size_t num_queries, const Snapshot& snapshot);
void set_answer(std::span<const Hit> hits, std::size_t query, BatchAnswers& answers);

}  // namespace culmen
