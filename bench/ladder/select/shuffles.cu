// Shuffles: ranks stay in registers. Threads of a warp exchange them by shuffles, warps through shared
// memory, without conflicts as each place is its thread's; a block still reduces one tile and writes one run
// of it.
#include "bench/ladder/select/question.cuh"
#include "bench/select/runs.cuh"

namespace culmen::select::ladder {
namespace {

struct BestOfTiles : BestOfAll {
  template <int, typename Rank>
  static unsigned num_blocks(std::uint32_t size) {
    return (size - 1) / kTileRanks<Rank> + 1;
  }
};

}  // namespace

const Rank64* shuffles(const Question& question) {
  return best_run<BestOfTiles>(question.keys, selection_of(question), length_of(question));
}

}  // namespace culmen::select::ladder
