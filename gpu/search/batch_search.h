// BatchSearch: many queries from the host at once, a warp for each, and their answers back on the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "culmen/query.h"
#include "culmen/search.h"
#include "gpu/mirror/mirror_version.h"
#include "gpu/search/workspace.h"
#include "index/snapshot.h"
#include "query/watch.h"

namespace culmen::gpu {

// Hits of a query of a batch, at most.
inline constexpr std::size_t kMaxBatchK = kMaxSortedHits;

class BatchSearch {
 public:
  BatchSearch(const cuda::Limits& limits, WorkspacePool& pool) : limits_(limits), pool_(pool) {}

  // Answers queries[positions[i]], all with the same k after it is limited to the number of
  // rows, in results[positions[i]], of which hits and work are set. On the current device; the version has rows.
  // Looks at `watch`, if it is not null, for each part of them. Throws as Index::search, OutOfDeviceMemory or CudaError.
  void search(const MirrorView& view, std::span<const Query> queries, std::span<const std::size_t> positions,
              std::size_t k, std::span<SearchResult> results, Watch* watch) const;

 private:
  void search_at_once(const MirrorView& view, std::span<const Query> queries,
                      std::span<const std::size_t> positions, std::size_t k,
                      std::span<SearchResult> results) const;

  cuda::Limits limits_;
  WorkspacePool& pool_;
};

}  // namespace culmen::gpu
