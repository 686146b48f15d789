#include "gpu/cuda/limits.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "gpu/cuda/error.h"

namespace culmen::cuda {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::atomic<std::size_t> most_multiprocessors = kNone, most_shared_bytes = kNone;

std::size_t attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device));
  return static_cast<std::size_t>(value);
}

}  // namespace

unsigned num_multiprocessors_of(int device) {
  return static_cast<unsigned>(
      std::min(attribute(cudaDevAttrMultiProcessorCount, device), most_multiprocessors.load()));
}

std::size_t block_shared_bytes_of(int device) {
  return std::min(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device), most_shared_bytes.load());
}

Limits limits_of(int device) {
  Limits limits;
  limits.num_multiprocessors = num_multiprocessors_of(device);
  limits.block_shared_bytes = block_shared_bytes_of(device);
  limits.reserved_shared_bytes = attribute(cudaDevAttrReservedSharedMemoryPerBlock, device);
  limits.multiprocessor_shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  if (most_shared_bytes != kNone)
    limits.multiprocessor_shared_bytes =
        std::min(limits.multiprocessor_shared_bytes, most_shared_bytes + limits.reserved_shared_bytes);
  return limits;
}

LimitCap::LimitCap(const Most& most)
    : multiprocessors_before_(most_multiprocessors), shared_bytes_before_(most_shared_bytes) {
  most_multiprocessors = most.num_multiprocessors > 0 ? most.num_multiprocessors : kNone;
  most_shared_bytes = most.block_shared_bytes > 0 ? most.block_shared_bytes : kNone;
}

LimitCap::~LimitCap() {
  most_multiprocessors = multiprocessors_before_;
  most_shared_bytes = shared_bytes_before_;
}

}  // namespace culmen::cuda
