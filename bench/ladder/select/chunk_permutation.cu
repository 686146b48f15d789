// Chunk permutation: where a thread has more than one chunk, neighbours take neighbouring ones at a time.
#include "bench/ladder/select/tile.cuh"

namespace culmen::select::ladder {

const Rank64* chunk_permutation(const Question& question) {
  return reduce_by_tiles<ChunkPermutation>(question);
}

}  // namespace culmen::select::ladder
