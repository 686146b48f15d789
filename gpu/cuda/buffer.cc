#include "gpu/cuda/buffer.h"

#include "gpu/cuda/allocation_fault.h"

namespace culmen::cuda {
namespace {

cudaError_t try_create(cudaStream_t* stream) {
  if (AllocationFault::strikes()) return cudaErrorMemoryAllocation;
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}

cudaError_t try_create(cudaEvent_t* event) {
  if (AllocationFault::strikes()) return cudaErrorMemoryAllocation;
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}

}  // namespace

Stream::Stream() {
  check(try_create(&stream_));
  count_allocation(1);
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
  count_allocation(-1);
}

Event::Event() {
  check(try_create(&event_));
  count_allocation(1);
}

Event::~Event() {
  cudaEventDestroy(event_);
  count_allocation(-1);
}

bool Event::has_passed() const noexcept {
  const cudaError_t status = cudaEventQuery(event_);
  if (status != cudaSuccess) cudaGetLastError();  // clears the error, which the next call would report
  return status == cudaSuccess;
}

}  // namespace culmen::cuda
