// One query to all shards of an index.
#pragma once

#include <span>
#include <vector>

#include "culmen/search.h"
#include "query/watch.h"
#include "shard/sharded_core.h"

namespace culmen {

// First jointly: best-first over the trees of all shards, on the caller's thread (cpu/bounded.h), which most queries end with.
// If that takes too long, or another engine is asked for, each shard is searched alone, on options.num_threads, with
// the k-th score so far as its floor. Throws as Index::search.
SearchResult search_shards(const ShardState& state, const Query& query, const SearchOptions& options,
                           Watch* watch);

// Whether the queries of a batch had better be answered by search_shards_together: memory does not hold the shards, so that each
// had better read a leaf once for many (cpu/shared_walk.h).
bool prefers_together(const ShardState& state, std::size_t num_queries, const SearchOptions& options);

// The answers to some queries of one scale, none of which has groups: each shard answers all of them.
std::vector<SearchResult> search_shards_together(const ShardState& state, std::span<const Query> queries,
                                                 const SearchOptions& options, Watch* watch);

}  // namespace culmen
