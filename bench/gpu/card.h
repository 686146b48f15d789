// The card itself: what it is, and an L2 cache without anything of use in it.
#pragma once

#include <cstddef>

#include "gpu/cuda/buffer.h"

namespace culmen::bench {

// Its name and sizes, the driver and the runtime, in one line.
void print_card();

// Called, it overwrites twice as much memory as the L2 cache holds, and waits.
class CacheFlush {
 public:
  CacheFlush();
  void operator()() const;

 private:
  cuda::Buffer<std::byte> memory_;
};

}  // namespace culmen::bench
