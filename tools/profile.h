// What searches did, told to people on stderr.
#pragma once

#include <span>

#include "culmen/query.h"

namespace culmen::tools {

// One line: "384 of 1,000,000 rows scored (0.038 %), 41 µs, engine bounded"; several queries: the average.
void print_summary(std::span<const SearchResult> results);

// One line a counter, averages over the queries. elapsed_us: of all of them together.
void print_profile(std::span<const SearchResult> results, double elapsed_us);

}  // namespace culmen::tools
