// Engine `gta`: the paper's algorithm (GTA, section 3) on the CPU, its CTA. Walks each partition leaf by
// leaf and leaves it when the threshold tuple shows that no later leaf can enter the answer.
//
// Partitions are shared out to the threads of the caller's arena; each thread keeps one private heap over all
// of its partitions, merged at the end. The stop test is exact with ties: score(threshold) below the k-th
// score, or equal to it with every later id too large.
#pragma once

#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

std::vector<Hit> search_gta(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

}  // namespace culmen::cpu
