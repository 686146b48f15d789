// CountSearch: how many rows rank before a place of a query's order, by the whole GPU.
#pragma once

#include <cstdint>

#include "gpu/cuda/limits.h"
#include "gpu/mirror/mirror_version.h"
#include "gpu/search/workspace.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

class CountSearch {
 public:
  CountSearch(const cuda::Limits& limits, WorkspacePool& pool) : limits_(limits), pool_(pool) {}

  // Of the rows on the device, which is current: those that pass the query's filter and `before`. Its k, min_score and page
  // do not matter. Throws OutOfDeviceMemory or CudaError.
  std::uint64_t count(const MirrorView& view, const ResolvedQuery& query, KthBound before) const;

 private:
  cuda::Limits limits_;
  WorkspacePool& pool_;
};

}  // namespace culmen::gpu
