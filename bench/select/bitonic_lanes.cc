#include "bench/select/bitonic_lanes.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/select/bitonic_lanes.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::select::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Puts the larger of each lane into `larger`, the smaller into `smaller`.
HWY_INLINE void Order(Rank64* larger, Rank64* smaller) {
  const hn::CappedTag<Rank64, kLanes> d;
  for (std::size_t lane = 0; lane < kLanes; lane += hn::Lanes(d)) {
    const auto a = hn::LoadU(d, larger + lane), b = hn::LoadU(d, smaller + lane);
    hn::StoreU(hn::Max(a, b), d, larger + lane);
    hn::StoreU(hn::Min(a, b), d, smaller + lane);
  }
}
HWY_INLINE void Order(Rank128* larger, Rank128* smaller) {
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    if (larger[lane] < smaller[lane]) std::swap(larger[lane], smaller[lane]);
}

// Sorts bitonic pieces of `piece` rows. If `piece` < `length`, they alternate between larger first and smaller first.
template <typename Rank>
HWY_INLINE void SortBitonicPieces(Rank* rows, std::size_t length, std::size_t piece, bool larger_first) {
  for (std::size_t stride = piece / 2; stride > 0; stride /= 2)
    for (std::size_t first = 0; first < length; first += 2 * stride) {
      const bool larger_above = ((first & piece) == 0) == larger_first;
      for (std::size_t i = first; i < first + stride; ++i) {
        Rank* a = rows + i * kLanes;
        Rank* b = a + stride * kLanes;
        larger_above ? Order(a, b) : Order(b, a);
      }
    }
}

// `best` is sorted largest first and the chunk smallest first, so the larger rank of each pair of rows is among the best
// of both, and these again form a bitonic sequence.
template <typename Rank>
HWY_INLINE void Merge(Rank* best, Rank* chunk, std::size_t length) {
  for (std::size_t piece = 2; piece <= length; piece *= 2) SortBitonicPieces(chunk, length, piece, false);
  for (std::size_t i = 0; i < length; ++i) Order(best + i * kLanes, chunk + i * kLanes);
  SortBitonicPieces(best, length, length, true);
}

void MergeChunk64(Rank64* best, Rank64* chunk, std::size_t length) {
  Merge(best, chunk, length);
}
void MergeChunk128(Rank128* best, Rank128* chunk, std::size_t length) {
  Merge(best, chunk, length);
}

}  // namespace culmen::select::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace culmen::select {

HWY_EXPORT(MergeChunk64);
HWY_EXPORT(MergeChunk128);

void merge_chunk(Rank64* best, Rank64* chunk, std::size_t length) {
  HWY_DYNAMIC_DISPATCH(MergeChunk64)(best, chunk, length);
}
void merge_chunk(Rank128* best, Rank128* chunk, std::size_t length) {
  HWY_DYNAMIC_DISPATCH(MergeChunk128)(best, chunk, length);
}

}  // namespace culmen::select
#endif  // HWY_ONCE
