// How many thread blocks a cooperative kernel of this room has.
#pragma once

namespace culmen::select {

inline constexpr unsigned kBlocksPerMultiprocessor = 1;

// Of the current device, before Workspace::most_blocks. Throws CudaError.
unsigned num_blocks_of_grid();

}  // namespace culmen::select
