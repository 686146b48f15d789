// The mean and the standard deviation of each attribute of a version, by which Scale::zscore goes.
#pragma once

#include <vector>

#include "base/moments.h"
#include "culmen/statistics.h"

namespace culmen {

struct Snapshot;

Spread spread_of(const Moments& moments);
// Throws FormatError for sums that no numbers have.
Moments moments_of(const Spread& spread);

// Of the values that are not missing, with the users' signs. Cost: one pass over all values, by all threads; of a version
// with LoggedRows one over those rows, once its base has its own, and over the ids of the base if rows of it were erased.
std::vector<Spread> spreads_of(const Snapshot& version);

}  // namespace culmen
