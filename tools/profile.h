// What searches did, told to people on stderr.
#pragma once

#include <span>

#include "culmen/index.h"
#include "culmen/query.h"

namespace culmen::tools {

// One line: "384 of 1,000,000 rows scored (0.038 %), 41 µs, engine bounded"; several queries: the average.
void print_summary(std::span<const SearchResult> results);

// One line a counter, averages over the queries. elapsed_us: of all of them together.
void print_profile(std::span<const SearchResult> results, double elapsed_us);

// One line: what the cost model says of these queries beside what they took. Plans up to 100 of them anew;
// says nothing of engines without a prediction, and of batches on a GPU.
void print_prediction(const Index& index, std::span<const Query> queries,
                      std::span<const SearchResult> results, const SearchOptions& options);

}  // namespace culmen::tools
