// Combining several steps: a thread takes up to four steps on 16 ranks in registers between two visits of
// shared memory.
#include "bench/ladder/select/tile.cuh"

namespace culmen::select::ladder {

const Rank64* several_steps(const Question& question) {
  return reduce_by_tiles<SeveralSteps>(question);
}

}  // namespace culmen::select::ladder
