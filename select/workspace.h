// The device memory of a selection.
#pragma once

#include "gpu/cuda/buffer.h"
#include "select/selected_row.h"

namespace culmen::select {

// Buffers that grow and are reused. One selection at a time, on one stream.
struct Workspace {
  // Limits the thread blocks of cooperative kernels, for tests: two are enough to find races, and racecheck takes
  // hours over more.
  unsigned most_blocks = 1u << 20;
  cuda::Buffer<std::byte> counters, ranks, more_ranks, taken, scratch;
  cuda::Buffer<SelectedRow> rows;
};

}  // namespace culmen::select
