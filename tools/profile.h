// Reports on standard error of what searches did.
#pragma once

#include <cstdint>
#include <span>

#include "culmen/index.h"
#include "culmen/query.h"

namespace culmen::tools {

// One line: "384 of 1,000,000 rows scored (0.038 %), 41 µs, engine bounded"; averages for several queries.
void print_summary(std::span<const SearchResult> results);

// One line per counter, averages over the queries. Of all queries together: num_reads (IndexInfo::num_reads), elapsed_us.
void print_profile(std::span<const SearchResult> results, std::uint64_t num_reads, double elapsed_us);

// One line: the predicted and the measured time. Predicts up to 100 of the queries; prints nothing for engines without
// a prediction and for batches on a GPU. Predictions are for an index in memory.
void print_prediction(const Index& index, std::span<const Query> queries,
                      std::span<const SearchResult> results, const SearchOptions& options);

}  // namespace culmen::tools
