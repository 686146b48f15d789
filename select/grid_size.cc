#include "select/grid_size.h"

#include "gpu/cuda/error.h"
#include "gpu/cuda/limits.h"

namespace culmen::select {

unsigned num_blocks_of_grid() {
  int device = 0;
  cuda::check(cudaGetDevice(&device));
  return cuda::num_multiprocessors_of(device) * kBlocksPerMultiprocessor;
}

}  // namespace culmen::select
