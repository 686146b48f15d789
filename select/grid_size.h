// The number of thread blocks of a cooperative kernel of this folder.
#pragma once

namespace culmen::select {

inline constexpr unsigned kBlocksPerMultiprocessor = 1;

// On the current device, not limited by Workspace::most_blocks. Throws CudaError.
unsigned num_blocks_of_grid();

}  // namespace culmen::select
