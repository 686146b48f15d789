// The card: its properties, and a way to flush its L2 cache.
#pragma once

#include <cstddef>

#include "gpu/cuda/buffer.h"

namespace culmen::bench {

// Its name and sizes, the driver and the runtime, in one line.
void print_card();

// A call overwrites twice as much memory as the L2 cache holds, and waits.
class CacheFlush {
 public:
  CacheFlush();
  void operator()() const;

 private:
  cuda::Buffer<std::byte> memory_;
};

}  // namespace culmen::bench
