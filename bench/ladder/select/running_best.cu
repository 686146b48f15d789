// A running best: a thread merges what it has sorted with the best run of all that it has seen, so that a
// block halves only once, in the end. The method `bitonic` of the library.
#include "bench/ladder/select/question.cuh"

namespace culmen::select::ladder {

const Rank64* running_best(const Question& question) {
  return select_by_bitonic(question.keys, selection_of(question));
}

}  // namespace culmen::select::ladder
