// The rungs of the ladder: versions of the engine bounded, oldest first, each launched as the engine is
// (gpu/search/engines.h). float32 only, k <= 256. If the candidates do not fit, the outcome is an overflow, without
// a retry.
#pragma once

#include <functional>

#include "gpu/search/engines.h"

namespace culmen::gpu::ladder {

using Launch = std::function<void(const MirrorRef& mirror, const SearchStateRef& state,
                                  const QueryArgument& query, const GridPlan& plan, cudaStream_t stream)>;

// Keeps scratch memory between searches, and waits for the device itself.
Launch make_rung_0();

void launch_rung_1(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                   const GridPlan& plan, cudaStream_t stream);
void launch_rung_2(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                   const GridPlan& plan, cudaStream_t stream);
void launch_rung_3(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                   const GridPlan& plan, cudaStream_t stream);
void launch_rung_4(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                   const GridPlan& plan, cudaStream_t stream);

}  // namespace culmen::gpu::ladder
