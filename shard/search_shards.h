// One query to all shards of an index.
#pragma once

#include "culmen/search.h"
#include "query/watch.h"
#include "shard/sharded_core.h"

namespace culmen {

// First jointly: best-first over the trees of all shards, on the caller's thread (cpu/bounded.h), which most queries end with.
// If that takes too long, or another engine is asked for, each shard is searched alone, on options.num_threads, with
// the k-th score so far as its floor. Throws as Index::search.
SearchResult search_shards(const ShardState& state, const Query& query, const SearchOptions& options,
                           Watch* watch);

}  // namespace culmen
