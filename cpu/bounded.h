// Engine `bounded`: best-first search over the tree with the chain bound.
//
// Always visits the node or leaf with the highest bound next and stops when that bound cannot beat the k-th
// best score: no method that knows only these bounds can read fewer blocks. Ties follow (bound, smallest id).
// Cost: one row of kFanOut floats per bound term and visited node, the used columns of each visited leaf.
#pragma once

#include "culmen/query.h"
#include "index/resolved_query.h"
#include "index/snapshot.h"

namespace culmen::cpu {

std::vector<Hit> search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

}  // namespace culmen::cpu
