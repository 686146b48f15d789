// Engine `ta`: Fagin's threshold algorithm over one sorted list per attribute (Fagin, Lotem & Naor 2003).
//
// Reads the lists of the used attributes in step, scores each row when it first appears, and stops once there are k
// results and the k-th score is above the score of the values at the current depth.
#pragma once

#include <cstdint>
#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

// Rows (leaf * leaf_rows + position) by ascending value, one list per attribute.
struct SortedLists {
  std::vector<std::vector<std::uint32_t>> rows;
};

// Cost: num_attributes * 4 bytes a row and a parallel sort of each attribute. Throws InvalidArgument for an
// index with room for 2^32 rows or more.
SortedLists make_sorted_lists(const Snapshot& snapshot);

std::vector<Hit> search_ta(const Snapshot& snapshot, const SortedLists& lists, const ResolvedQuery& query,
                           SearchStats& stats);

}  // namespace culmen::cpu
