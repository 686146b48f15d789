// PackedArgument: a query from the host as the argument of a kernel that answers it alone.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu/mirror/mirror_version.h"
#include "gpu/search/packed_query.h"
#include "gpu/search/workspace.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

struct PackedArgument {
  // Enqueues the copy of what is no parameter on the workspace's stream. Throws OutOfDeviceMemory or CudaError.
  PackedArgument(Workspace& workspace, const MirrorView& view, const ResolvedQuery& query);

  QueryKind kind = QueryKind::plain;
  std::vector<std::byte> parts;  // PackedHeader::parts
  QueryArgument argument;
};

}  // namespace culmen::gpu
