// Launches a search by bounds (bounded_search.cuh) of one query: a launch for each.
#include <cstring>
#include <optional>

#include "gpu/cuda/launch.h"
#include "gpu/search/bounded_search.cuh"
#include "gpu/search/engines.h"

namespace culmen::gpu {
namespace {

template <typename T, typename Argument, QueryKind kKind>
__global__ void __launch_bounds__(kSearchThreads, 1)
    search_bounded(const MirrorRef mirror, const SearchStateRef state, const GridRoom room,
                   const __grid_constant__ Argument packed) {
  extern __shared__ double dynamic_shared[];
  __shared__ BoundedShared shared;
  search_by_bounds<T, kKind>(mirror, state, room, take_query(packed, shared.block), shared, dynamic_shared);
}

// The same argument as a smaller parameter, if it fits.
std::optional<SmallQueryArgument> shortened(const QueryArgument& query) {
  SmallQueryArgument small;
  small.outside = query.outside;
  if (query.outside != nullptr) return small;
  const std::size_t size = QueryRef{query.inside}.num_bytes();
  if (size > SmallQueryArgument::kInside) return std::nullopt;
  std::memcpy(small.inside, query.inside, size);
  return small;
}

}  // namespace

template <typename T>
void launch_bounded(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                    const GridPlan& plan, QueryKind kind, cudaStream_t stream) {
  const cuda::Shape shape = {.num_blocks = plan.num_blocks,
                             .num_threads = kSearchThreads,
                             .shared_bytes = plan.shared_bytes,
                             .cooperative = true};
  // The larger a kernel's parameters, the longer its launch takes.
  if (kind == QueryKind::with_functions) {
    cuda::launch(search_bounded<T, WideQueryArgument, QueryKind::with_functions>, shape, stream, mirror,
                 state, plan.room, WideQueryArgument{query.outside});
  } else if (needs_wide_argument(query, mirror.num_attributes)) {
    cuda::launch(search_bounded<T, WideQueryArgument, QueryKind::filtered>, shape, stream, mirror, state,
                 plan.room, WideQueryArgument{query.outside});
  } else if (kind == QueryKind::filtered) {
    cuda::launch(search_bounded<T, QueryArgument, QueryKind::filtered>, shape, stream, mirror, state,
                 plan.room, query);
  } else if (const std::optional<SmallQueryArgument> small = shortened(query)) {
    cuda::launch(search_bounded<T, SmallQueryArgument, QueryKind::plain>, shape, stream, mirror, state,
                 plan.room, *small);
  } else {
    cuda::launch(search_bounded<T, QueryArgument, QueryKind::plain>, shape, stream, mirror, state, plan.room,
                 query);
  }
}

template void launch_bounded<float>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                    const GridPlan&, QueryKind, cudaStream_t);
template void launch_bounded<double>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                     const GridPlan&, QueryKind, cudaStream_t);
template void launch_bounded<Packed<float>>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                            const GridPlan&, QueryKind, cudaStream_t);
template void launch_bounded<Packed<double>>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                             const GridPlan&, QueryKind, cudaStream_t);

}  // namespace culmen::gpu
