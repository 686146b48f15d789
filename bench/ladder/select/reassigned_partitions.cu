// Reassigned partitions: after a halving the threads keep 16 ranks each, and there are fewer of them, so that
// as many steps go together as before.
#include "bench/ladder/select/tile.cuh"

namespace culmen::select::ladder {

const Rank64* reassigned_partitions(const Question& question) {
  return reduce_by_tiles<ReassignedPartitions>(question);
}

}  // namespace culmen::select::ladder
