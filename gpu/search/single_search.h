// SingleSearch: one query from the host by the whole GPU, and its answer back on the host.
#pragma once

#include <vector>

#include "culmen/search.h"
#include "gpu/mirror/mirror_version.h"
#include "gpu/search/workspace.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

class SingleSearch {
 public:
  SingleSearch(const cuda::Limits& limits, WorkspacePool& pool) : limits_(limits), pool_(pool) {}

  // Sets result.hits and adds the work to result.stats. On the current device; the version has rows. `engine` is
  // bounded, scan, or gta with k up to kMaxSortedHits. Throws OutOfDeviceMemory or CudaError.
  void search(const MirrorView& view, const ResolvedQuery& query, Engine engine, SearchResult& result) const;

 private:
  GridPlan make_plan(const MirrorView& view, Engine engine) const;
  std::size_t first_capacity(const MirrorView& view, const ResolvedQuery& query, Engine engine) const;
  void launch(const MirrorView& view, Engine engine, const GridPlan& plan, const SearchStateRef& state,
              const QueryArgument& query, bool is_filtered, cudaStream_t stream) const;
  std::vector<Hit> run(const MirrorView& view, const ResolvedQuery& query, Engine engine,
                       Workspace& workspace, SearchStats& stats) const;

  cuda::Limits limits_;
  WorkspacePool& pool_;
};

}  // namespace culmen::gpu
