// Processors: how options and reports name them.
#pragma once

namespace culmen {

// For num_threads: as many threads as the machine has cores. More than these are cut to them; a negative number
// is an InvalidArgument.
inline constexpr int kAllCores = 0;

// For device, which is else the number of a GPU as CUDA counts them: none, the CPU.
inline constexpr int kNoDevice = -1;

}  // namespace culmen
