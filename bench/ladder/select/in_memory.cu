// Nothing done yet: every step of the network is a pass over memory.
#include "bench/ladder/select/question.cuh"
#include "bench/select/bitonic_step.cuh"

namespace culmen::select::ladder {

const Rank64* in_memory(const Question& question) {
  return best_run_in_memory(question.keys, selection_of(question), length_of(question));
}

}  // namespace culmen::select::ladder
