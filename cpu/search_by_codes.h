// Search of a tree whose leaves are in files, with the codes of all rows at hand (cpu/code_table.h): begins best first, as
// `bounded` does. If that does not end soon, the codes say which leaves may have a row with the k-th score so far, and these are read,
// those of the highest bounds first. Cost: a pass over the codes of the used attributes, and the leaves that no bound by codes
// excludes.
#pragma once

#include <vector>

#include "cpu/code_table.h"
#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

// codes: of this tree; the query suits them.
std::vector<Hit> search_by_codes(const Snapshot& tree, const ResolvedQuery& query, const CodeTable& codes,
                                 SearchStats& stats);

}  // namespace culmen::cpu
