// Bitonic top-k in vector lanes: kLanes independent selections, so that no step moves a rank between lanes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "select/rank.h"

namespace culmen::select {

inline constexpr std::size_t kLanes = 8;

// Merges `chunk` into `best`; both are [length][kLanes], length a power of two. `best` holds the best ranks of each
// lane, best first. Overwrites `chunk`.
void merge_chunk(Rank64* best, Rank64* chunk, std::size_t length);
void merge_chunk(Rank128* best, Rank128* chunk, std::size_t length);

}  // namespace culmen::select
