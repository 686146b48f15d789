#include "gpu/search/count_search.h"

#include <memory>
#include <utility>

#include "gpu/search/engines.h"
#include "gpu/search/query_argument.h"

namespace culmen::gpu {

std::uint64_t CountSearch::count(const MirrorView& view, const ResolvedQuery& query, KthBound before) const {
  if (!view.mirror->has_rows() || query.filter.is_nothing()) return 0;
  std::unique_ptr<Workspace> workspace = pool_.take();
  const PackedArgument packed(*workspace, view, query);
  const SearchStateRef state = workspace->next(1, before);
  visit_rows(view, [&]<typename T>(T) {
    launch_count<T>(view.mirror->ref(), state, packed.argument, limits_, packed.kind,
                    workspace->stream().get());
  });
  const std::uint64_t count = workspace->wait().num_candidates;
  pool_.give_back(std::move(workspace));
  return count;
}

}  // namespace culmen::gpu
