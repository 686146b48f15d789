// Special values of num_threads and device in options and reports.
#pragma once

namespace culmen {

// For num_threads: one thread per core. Larger numbers mean the same; a negative number throws InvalidArgument.
inline constexpr int kAllCores = 0;

// For device: the CPU. Other values are CUDA's numbers of GPUs.
inline constexpr int kNoDevice = -1;

}  // namespace culmen
