// Bitonic top-k in the lanes of vectors: kLanes selections beside each other, so that no step moves a rank
// from one lane to another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "select/rank.h"

namespace culmen::select {

inline constexpr std::size_t kLanes = 8;

// best, chunk: [length][kLanes], length a power of two. `best` has each lane's best so far, best first; it
// has those of both afterwards. What is in `chunk` is used up.
void merge_chunk(Rank64* best, Rank64* chunk, std::size_t length);
void merge_chunk(Rank128* best, Rank128* chunk, std::size_t length);

}  // namespace culmen::select
