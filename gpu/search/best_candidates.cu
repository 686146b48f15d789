#include "gpu/cuda/launch.h"
#include "gpu/search/best_candidates.h"
#include "select/fastest.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;

// Copies each candidate whose score and id were selected to its position among them.
__global__ void __launch_bounds__(kThreads)
    copy_selected(const Candidate* candidates, std::uint32_t count, const select::SelectedRow* selected,
                  std::uint32_t k, const select::KeyOrder<std::uint64_t> order, Candidate* best) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const auto rank_of = [&](std::uint64_t score_bits, std::int64_t id) {
    return select::make_rank(order.ordered(score_bits), id);
  };
  const Candidate mine = candidates[i];
  const auto rank = rank_of(static_cast<std::uint64_t>(__double_as_longlong(mine.score)), mine.id);
  std::uint32_t low = 0, high = k;  // the first that does not rank before `mine`
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    const bool is_before = rank_of(selected[middle].key, selected[middle].id) > rank;
    (is_before ? low : high) = is_before ? middle + 1 : middle;
  }
  if (low < k) best[low] = mine;
}

}  // namespace

const Candidate* BestCandidates::choose(const Candidate* candidates, std::size_t count, std::size_t k,
                                        cudaStream_t stream) {
  const select::Keys64Ids keys = {.keys = reinterpret_cast<const std::uint64_t*>(&candidates->score),
                                  .ids = &candidates->id,
                                  .order = select::order_of<std::uint64_t>(select::KeyType::float64),
                                  .num_rows = static_cast<std::uint32_t>(count),
                                  .stride = sizeof(Candidate) / sizeof(double)};
  const auto num_best = static_cast<std::uint32_t>(k);
  cuda::grow(best_, k, cuda::Memory::device);
  // If ids repeat, as in a damaged index, fewer than k positions are written: the others must not hold old rows.
  cuda::check(cudaMemsetAsync(best_.data(), 0, k * sizeof(Candidate), stream));
  const select::SelectedRow* selected = select::select_fastest(keys, num_best, workspace_, stream);
  cuda::launch(copy_selected,
               {.num_blocks = static_cast<unsigned>((count - 1) / kThreads + 1), .num_threads = kThreads},
               stream, candidates, keys.num_rows, selected, num_best, keys.order, best_.data());
  return best_.data();
}

}  // namespace culmen::gpu
