// The rungs of the ladder of bitonic top-k, each on top of those before it (Shanbhag, Pirk, Madden 2018,
// section 4.3, up to `reassigned_partitions`). They enqueue, and return where the k best ranks will be, best
// first. 64-bit ranks, k <= kMaxK.
#pragma once

#include "bench/select/select.h"
#include "bench/select/sources.h"

namespace culmen::select::ladder {

inline constexpr std::uint32_t kMaxK = 2048;  // two runs make a tile

struct Question {
  Keys32 keys;
  std::uint32_t k;
  Workspace& workspace;
  cudaStream_t stream;
};

using Rung = const Rank64* (*)(const Question&);

const Rank64* in_memory(const Question& question);
const Rank64* in_shared_memory(const Question& question);
const Rank64* merged_operators(const Question& question);
const Rank64* several_steps(const Question& question);
const Rank64* work_before_writing(const Question& question);
const Rank64* padding(const Question& question);
const Rank64* chunk_permutation(const Question& question);
const Rank64* reassigned_partitions(const Question& question);
const Rank64* shuffles(const Question& question);
const Rank64* running_best(const Question& question);
const Rank64* rejection(const Question& question);

}  // namespace culmen::select::ladder
