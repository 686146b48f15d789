#include "bench/select/host_select.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "bench/select/bitonic_lanes.h"
#include "bench/select/sources.h"

namespace culmen::select {
namespace {

constexpr std::uint32_t kRowsPerTask = 1 << 16;

// Calls use(state, rank) for every row that passes the filter. Each thread has its own copy of `initial` as state;
// returns all of them.
template <typename State, typename Source, typename Use>
tbb::enumerable_thread_specific<State> for_each_rank(const Source& source, const State& initial,
                                                     const Use& use) {
  tbb::enumerable_thread_specific<State> of_threads(initial);
  tbb::parallel_for(tbb::blocked_range<std::uint32_t>(0, source.size(), kRowsPerTask),
                    [&](const auto& range) {
                      State& mine = of_threads.local();
                      for (std::uint32_t i = range.begin(); i < range.end(); ++i)
                        if (const auto rank = source.rank(i); rank > 0) use(mine, rank);
                    });
  return of_threads;
}

template <typename Rank>
class Heap {
 public:
  explicit Heap(std::size_t k) : k_(k) {}

  void offer(Rank rank) {
    if (ranks.size() < k_) {
      ranks.push_back(rank);
      std::push_heap(ranks.begin(), ranks.end(), std::greater<>());
    } else if (rank > ranks.front()) {
      std::pop_heap(ranks.begin(), ranks.end(), std::greater<>());
      ranks.back() = rank;
      std::push_heap(ranks.begin(), ranks.end(), std::greater<>());
    }
  }

  std::vector<Rank> ranks;  // the worst on top

 private:
  std::size_t k_;
};

template <typename Rank>
class BitonicBest {
 public:
  explicit BitonicBest(std::size_t k)
      : ranks(std::bit_ceil(k) * kLanes), chunk_(std::bit_ceil(k) * kLanes), length_(std::bit_ceil(k)) {}

  void offer(Rank rank) {
    chunk_[num_waiting_++] = rank;
    if (num_waiting_ == chunk_.size()) merge();
  }
  void merge() {
    std::fill(chunk_.begin() + static_cast<std::ptrdiff_t>(num_waiting_), chunk_.end(), Rank{0});
    merge_chunk(ranks.data(), chunk_.data(), length_);
    num_waiting_ = 0;
  }

  std::vector<Rank> ranks;  // [length][kLanes]; 0: no row

 private:
  std::vector<Rank> chunk_;
  std::size_t length_, num_waiting_ = 0;
};

constexpr int kDigitBits = 11;
using Bins = std::vector<std::uint32_t>;

// Returns the k-th best rank, or 1 if fewer than k rows pass the filter.
template <typename Source>
typename Source::Rank kth_rank(const Source& source, std::uint32_t k) {
  using Rank = typename Source::Rank;
  Rank low = 1;
  int num_bits = 8 * sizeof(Rank);
  std::uint32_t wanted = k;
  while (num_bits > 0) {
    const int shift = std::max(0, num_bits - kDigitBits);
    const std::uint32_t num_bins = std::uint32_t{1} << (num_bits - shift);
    Bins bins(num_bins);
    for (const Bins& some : for_each_rank(source, bins, [&](Bins&mine, Rank rank) {
           if (rank < low) return;
           const Rank bin = (rank - low) >> shift;
           if (bin < num_bins) ++mine[static_cast<std::size_t>(bin)];
         }))
      std::transform(bins.begin(), bins.end(), some.begin(), bins.begin(), std::plus<>());
    std::uint32_t bin = num_bins;
    std::uint32_t above = 0;
    while (bin > 0 && above + bins[bin - 1] < wanted) above += bins[--bin];
    if (bin == 0) return 1;
    low += Rank{bin - 1} << shift;
    wanted -= above;
    num_bits = shift;
  }
  return low;
}

// Returns a superset of the k best ranks.
template <typename Source>
std::vector<typename Source::Rank> candidates(HostMethod method, const Source& source, std::uint32_t k) {
  using Rank = typename Source::Rank;
  std::vector<Rank> found;
  const auto append = [&](const std::vector<Rank>& ranks) {
    found.insert(found.end(), ranks.begin(), ranks.end());
  };
  switch (method) {
    case HostMethod::heap:
      for (const Heap<Rank>&heap :
           for_each_rank(source, Heap<Rank>(k), [](auto&mine, Rank rank) { mine.offer(rank); }))
        append(heap.ranks);
      break;
    case HostMethod::bitonic: {
      auto of_threads =
          for_each_rank(source, BitonicBest<Rank>(k), [](auto& mine, Rank rank) { mine.offer(rank); });
      for (BitonicBest<Rank>& best : of_threads) {
        best.merge();
        append(best.ranks);
      }
      break;
    }
    case HostMethod::radix: {
      const Rank kth = kth_rank(source, k);
      for (const std::vector<Rank>&some :
           for_each_rank(source, std::vector<Rank>(), [&](auto&mine, Rank rank) {
             if (rank >= kth) mine.push_back(rank);
           }))
        append(some);
      break;
    }
  }
  std::erase(found, Rank{0});
  return found;
}

template <typename Source>
std::vector<SelectedRow> select_from(HostMethod method, const Source& source, std::uint32_t k) {
  require_rows(source.size(), k);
  k = std::min(k, source.size());
  auto ranks = candidates(method, source, k);
  const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(k, ranks.size()));
  std::partial_sort(ranks.begin(), end, ranks.end(), std::greater<>());
  std::vector<SelectedRow> rows(static_cast<std::size_t>(end - ranks.begin()));
  for (std::size_t i = 0; i < rows.size(); ++i) source.write(ranks[i], rows[i]);
  return rows;
}

}  // namespace

std::string_view method_name(HostMethod method) {
  switch (method) {
    case HostMethod::heap:
      return "heap";
    case HostMethod::bitonic:
      return "bitonic";
    case HostMethod::radix:
      return "radix";
  }
  return "";
}

std::vector<SelectedRow> select_best(HostMethod method, const KeyColumns& columns, std::uint32_t k) {
  return std::visit([&](const auto& source) { return select_from(method, source, k); }, source_of(columns));
}

std::vector<SelectedRow> select_best(HostMethod method, const ScoredColumns& columns, std::uint32_t k) {
  return select_from(method, source_of(columns), k);
}

}  // namespace culmen::select
