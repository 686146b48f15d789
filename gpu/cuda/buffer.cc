#include "gpu/cuda/buffer.h"

#include <thread>

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

// Asks until the work is done, or has failed.
cudaError_t outcome_of(const auto& query) {
  for (;;) {
    const cudaError_t status = query();
    if (status != cudaErrorNotReady) return status;
    cudaGetLastError();  // clears the error, which the next call would report
    std::this_thread::yield();
  }
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

void Stream::synchronize_politely() const {
  check(outcome_of([this] { return cudaStreamQuery(stream_); }));
}

void Event::synchronize_politely() const {
  check(outcome_of([this] { return cudaEventQuery(event_); }));
}

bool Event::has_passed() const noexcept {
  const cudaError_t status = cudaEventQuery(event_);
  if (status != cudaSuccess) cudaGetLastError();  // clears the error, which the next call would report
  return status == cudaSuccess;
}

}  // namespace culmen::cuda
