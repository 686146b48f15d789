// What rungs make of a question.
#pragma once

#include <algorithm>
#include <bit>

#include "bench/ladder/select/rungs.h"
#include "bench/select/methods.cuh"

namespace culmen::select::ladder {

inline Selection<Rank64> selection_of(const Question& question) {
  return {question.k, question.keys.num_rows, nullptr, {}, question.workspace, question.stream};
}

// The length of a run: a power of two, and at least 2, so that there is something to sort.
inline std::uint32_t length_of(const Question& question) {
  return std::bit_ceil(std::max(question.k, 2u));
}

}  // namespace culmen::select::ladder
