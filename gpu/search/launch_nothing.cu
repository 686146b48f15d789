#include "gpu/search/launch_nothing.h"

#include "gpu/cuda/launch.h"

namespace culmen::gpu {
namespace {

__global__ void do_nothing() {}

}  // namespace

void launch_nothing(cudaStream_t stream) {
  cuda::launch(do_nothing, {.num_blocks = 1, .num_threads = 32}, stream);
}

}  // namespace culmen::gpu
