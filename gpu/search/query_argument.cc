#include "gpu/search/query_argument.h"

#include <span>

#include "gpu/search/pack_functions.h"
#include "gpu/search/pack_predicate.h"

namespace culmen::gpu {

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): argument is written whole at the end
PackedArgument::PackedArgument(Workspace& workspace, const MirrorView& view, const ResolvedQuery& query) {
  if (!needs_functions(query)) {
    parts = pack_predicate(query.filter);
    kind = parts.empty() ? QueryKind::plain : QueryKind::filtered;
  } else {
    std::span<const RankSteps> curves;
    if (ranks_attributes(query.functions))
      curves = view.mirror->rank_curves(*view.snapshot, workspace.stream().get());
    parts = pack_functions(query, curves);
    kind = QueryKind::with_functions;
  }
  argument = workspace.argument(query, parts);
}

}  // namespace culmen::gpu
