// Declares the methods of k-selection. Each is defined in a file of its own, which instantiates it for all sources.
#pragma once

#include "bench/select/select.h"
#include "bench/select/sources.h"
#include "select/selection.cuh"
#include "select/threshold.cuh"

namespace culmen::select {

// Ranks in memory whose number the host knows.
template <typename R>
struct HostRanks {
  using Rank = R;
  static constexpr int kRun = 1;

  const Rank* ranks;

  __device__ Rank rank(std::uint32_t i) const { return ranks[i]; }
  __device__ void run(std::uint32_t i, Rank* out) const { run_by_rank(*this, i, out); }
};

// These end with take().
template <typename Source>
void select_by_sample(const Source& source, const Selection<typename Source::Rank>& selection);
template <typename Source>
void select_by_radix8(const Source& source, const Selection<typename Source::Rank>& selection);
template <typename Source>
void select_by_radix11(const Source& source, const Selection<typename Source::Rank>& selection);
template <typename Source>
void select_by_buckets(const Source& source, const Selection<typename Source::Rank>& selection);
template <typename Source>
void select_by_heaps(const Source& source, const Selection<typename Source::Rank>& selection);

// These return ranks, best first, at least min(k, num_rows) of them.
template <typename Source>
const typename Source::Rank* select_by_bitonic(const Source& source,
                                               const Selection<typename Source::Rank>& selection);
template <typename Source>
const typename Source::Rank* select_by_sort(const Source& source,
                                            const Selection<typename Source::Rank>& selection);
template <typename Source>
const typename Source::Rank* select_by_network(const Source& source,
                                               const Selection<typename Source::Rank>& selection);

#define CULMEN_INSTANTIATE_METHOD(result, method)                                         \
  template result(Keys32) method(const Keys32&, const Selection<Keys32::Rank>&);          \
  template result(Keys32Ids) method(const Keys32Ids&, const Selection<Keys32Ids::Rank>&); \
  template result(Keys64Ids) method(const Keys64Ids&, const Selection<Keys64Ids::Rank>&); \
  template result(Scores) method(const Scores&, const Selection<Scores::Rank>&)
#define CULMEN_NO_RANKS(Source) void
#define CULMEN_RANKS(Source) const Source::Rank*

}  // namespace culmen::select
