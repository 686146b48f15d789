// Work before writing: a thread sorts its first 16 ranks before they are in shared memory at all, here by an
// odd-even merge sort.
#include "bench/ladder/select/tile.cuh"

namespace culmen::select::ladder {

const Rank64* work_before_writing(const Question& question) {
  return reduce_by_tiles<WorkBeforeWriting>(question);
}

}  // namespace culmen::select::ladder
