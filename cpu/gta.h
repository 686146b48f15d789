// Engine `gta`: the paper's algorithm (GTA, section 3) on the CPU, its CTA. Walks each partition leaf by leaf and stops
// when the threshold tuple shows that no later leaf can enter the answer.
//
// The threads of the caller's arena share the partitions; each keeps one private heap over all of its partitions,
// merged at the end. The stop test is exact with ties: score(threshold) below the k-th score, or equal to it with every
// later id too large.
#pragma once

#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

std::vector<Hit> search_gta(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

}  // namespace culmen::cpu
