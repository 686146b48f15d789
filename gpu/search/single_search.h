// SingleSearch: one query from the host by the whole GPU, and its answer back on the host.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "culmen/search.h"
#include "gpu/mirror/mirror_version.h"
#include "gpu/search/query_argument.h"
#include "gpu/search/resident_search.h"
#include "gpu/search/workspace.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

class SingleSearch {
 public:
  // is_resident: usual questions are asked of a kernel that stays on the device.
  SingleSearch(const cuda::Limits& limits, WorkspacePool& pool, bool is_resident = false);

  // That a resident kernel occupies while questions come; 0 without one.
  unsigned num_resident_multiprocessors() const {
    return resident_ == nullptr ? 0 : resident_->num_multiprocessors();
  }

  // A search that has been launched, on the device that was current. Searches of several devices run at the same time.
  class Running {
   public:
    // `engine` is bounded, scan, or gta with k up to kMaxSortedHits. The version has rows; it and the query must outlive
    // this. Throws OutOfDeviceMemory or CudaError.
    Running(const SingleSearch& search, const MirrorView& view, const ResolvedQuery& query, Engine engine);
    // Waits for the end. Adds the work to stats. The same device is current. Throws as the constructor. Call it once.
    std::vector<Hit> finish(SearchStats& stats);

   private:
    void launch();
    const ResultHeader& wait();

    const SingleSearch& search_;
    const MirrorView& view_;
    const ResolvedQuery& query_;
    Engine engine_;
    std::optional<ResidentSearch::Turn> turn_;  // none: the query has launches of its own
    std::unique_ptr<Workspace> own_workspace_;  // null: that of the turn
    Workspace* workspace_ = nullptr;
    GridPlan plan_{};
    std::size_t num_outside_ = 0;
    std::optional<PackedArgument> argument_;  // none: there is a turn
    KthBound kth_bound_;
    std::size_t capacity_ = 0;  // of the candidates' list, of the latest launch
  };

 private:
  bool is_for_resident(const MirrorView& view, const ResolvedQuery& query, Engine engine) const;
  GridPlan make_plan(const MirrorView& view, Engine engine) const;
  std::size_t first_capacity(const MirrorView& view, const ResolvedQuery& query, Engine engine) const;
  void launch(const MirrorView& view, Engine engine, const GridPlan& plan, const SearchStateRef& state,
              const PackedArgument& query, cudaStream_t stream) const;

  cuda::Limits limits_;
  WorkspacePool& pool_;
  std::unique_ptr<ResidentSearch> resident_;  // or null
};

}  // namespace culmen::gpu
