// bucket: like radix11, but the first buckets divide the interval from the smallest to the largest rank.
#include "bench/select/methods.cuh"
#include "select/extremes.cuh"

namespace culmen::select {
namespace {

template <typename Source>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    bucket_select(const Source source, std::uint32_t k, Counters* counters,
                  Extremes<typename Source::Rank>* of_blocks, const Taken<typename Source::Rank> taken) {
  using Rank = typename Source::Rank;
  Extremes<Rank> extremes = {static_cast<Rank>(~Rank{0}), Rank{0}};
  const Wider<Rank> wider;
  for_each_rank(source, [&](Rank rank) {
    if (rank > 0) extremes = wider(extremes, {rank, rank});
  });
  extremes = grid_extremes(extremes, of_blocks);
  if (extremes.highest == 0) extremes = {1, 1};  // no row passes the filter
  std::uint32_t(*bins)[kMaxBins] = counters->bins;
  const auto best = find_threshold<kMaxDigitBits>(source, k, most_to_sort(k), interval_of(extremes), bins);
  take(source, source, best.rank, k, *counters, taken);
}

}  // namespace

template <typename Source>
void select_by_buckets(const Source& source, const Selection<typename Source::Rank>& selection) {
  using Rank = typename Source::Rank;
  const cuda::Shape shape = cooperative_shape(selection.workspace.most_blocks);
  auto* of_blocks = reinterpret_cast<Extremes<Rank>*>(selection.ranks(std::size_t{2} * shape.num_blocks));
  cuda::launch(bucket_select<Source>, shape, selection.stream, source, selection.k, selection.counters,
               of_blocks, selection.taken);
}

CULMEN_INSTANTIATE_METHOD(CULMEN_NO_RANKS, select_by_buckets);

}  // namespace culmen::select
