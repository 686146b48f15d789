// radix8, radix11: find the k-th rank by passes over the input, one per digit; one more pass collects the rows that
// reach it.
#include "bench/select/methods.cuh"

namespace culmen::select {
namespace {

template <int kDigitBits, typename Source>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    radix_select(const Source source, std::uint32_t k, Counters* counters,
                 const Taken<typename Source::Rank> taken) {
  std::uint32_t(*bins)[kMaxBins] = counters->bins;
  const auto best = find_threshold<kDigitBits>(source, k, most_to_sort(k), {}, bins);
  take(source, source, best.rank, k, *counters, taken);
}

template <int kDigitBits, typename Source>
void launch(const Source& source, const Selection<typename Source::Rank>& selection) {
  cuda::launch(radix_select<kDigitBits, Source>, cooperative_shape(selection.workspace.most_blocks),
               selection.stream, source, selection.k, selection.counters, selection.taken);
}

}  // namespace

template <typename Source>
void select_by_radix8(const Source& source, const Selection<typename Source::Rank>& selection) {
  launch<8>(source, selection);
}
template <typename Source>
void select_by_radix11(const Source& source, const Selection<typename Source::Rank>& selection) {
  launch<kMaxDigitBits>(source, selection);
}

CULMEN_INSTANTIATE_METHOD(CULMEN_NO_RANKS, select_by_radix8);
CULMEN_INSTANTIATE_METHOD(CULMEN_NO_RANKS, select_by_radix11);

}  // namespace culmen::select
