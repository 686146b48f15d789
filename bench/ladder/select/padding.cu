// Padding: a place is left free after 16 ranks, so that ranks 16 apart, first places of the chunks of
// neighbouring threads, are in different banks.
#include "bench/ladder/select/tile.cuh"

namespace culmen::select::ladder {

const Rank64* padding(const Question& question) {
  return reduce_by_tiles<Padding>(question);
}

}  // namespace culmen::select::ladder
