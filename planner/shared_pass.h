// Whether the questions of a batch are answered by one pass over all rows (cpu/byte_pass.h) or each by a search of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

// Asks a few of the questions by bounds, and lets each give up once it has cost what its share of a pass would. True if
// most gave up. Always false on a machine where the pass is slow, for few questions and for narrow tables. All threads
// of the caller's arena.
bool prefers_pass(const Snapshot& snapshot, std::size_t num_questions,
                  const std::function<std::optional<ResolvedQuery>(std::size_t)>& query_of);

}  // namespace culmen
