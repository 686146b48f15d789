// The memory on the card that a selection works in.
#pragma once

#include "gpu/cuda/buffer.h"
#include "select/selected_row.h"

namespace culmen::select {

// What a selection needs on the card; it grows and stays. One selection at a time, on one stream.
struct Workspace {
  // The most thread blocks of a kernel whose blocks wait for each other, beside the limit of the card: two
  // are enough to find races, and racecheck takes hours over all.
  unsigned most_blocks = 1u << 20;
  cuda::Buffer<std::byte> counters, ranks, more_ranks, taken, scratch;
  cuda::Buffer<SelectedRow> rows;
};

}  // namespace culmen::select
