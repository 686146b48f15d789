// Converts a QueryBatch to queries, and their hits to flat arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "culmen/search.h"

namespace culmen {

// num_queries_of() throws InvalidArgument for k = 0 and weights that are not a whole number of rows.
std::size_t num_queries_of(const QueryBatch& batch, std::size_t num_attributes);
Query query_of(const QueryBatch& batch, std::size_t num_attributes, std::size_t query);
std::vector<Query> queries_of(const QueryBatch& batch, std::size_t num_attributes);

// Allocates the arrays and fills them with empty answers. num_rows and version: of the index.
BatchAnswers make_answers(const QueryBatch& batch, std::size_t num_queries, std::uint64_t num_rows,
                          std::uint64_t version);
// The same for all queries of a batch over this version. Throws as queries_of().
BatchAnswers make_answers(const QueryBatch& batch, const Snapshot& snapshot);
AnswerArrays arrays_of(BatchAnswers& answers);
// Throws InvalidArgument if the arrays are not those of the batch, or overlap, and as queries_of().
void check_arrays(const QueryBatch& batch, std::size_t num_attributes, const AnswerArrays& answers);
// Writes all of the query's part of the arrays.
void set_answer(std::span<const Hit> hits, std::size_t query, const AnswerArrays& answers);

}  // namespace culmen
