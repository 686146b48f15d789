// Steps of a pass that begins with a sample, so that k-th score bounds are tight before it reaches most of the table: each
// takes 7 times as many places as all before it.
#pragma once

#include <cstdint>

#include "gpu/search/sweep.h"

namespace culmen::gpu {

// The multiples of `stride` below num_places, except those of the steps before.
struct GrowingStep {
  std::uint32_t num_places, stride;
  bool is_first;

  __device__ std::uint32_t multiples(std::uint32_t of) const { return (num_places + of - 1) / of; }
  __device__ std::uint32_t size() const {
    return multiples(stride) - (is_first ? 0 : multiples(stride * kSweepGrowth));
  }
  __device__ std::uint32_t place(std::uint32_t i) const {
    return (is_first ? i : i + i / (kSweepGrowth - 1) + 1) * stride;
  }
};

}  // namespace culmen::gpu
