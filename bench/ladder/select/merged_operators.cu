// Merging operators: one kernel sorts the runs of a tile and halves them until one is left, and only that is
// written. (The paper stops after four halvings, as it has ranks for all threads then.)
#include "bench/ladder/select/tile.cuh"

namespace culmen::select::ladder {

const Rank64* merged_operators(const Question& question) {
  return reduce_by_tiles<MergedOperators>(question);
}

}  // namespace culmen::select::ladder
