#include "gpu/cuda/device_allocator.h"

#include <mutex>
#include <utility>

namespace culmen {
namespace {

std::mutex present_mutex;
std::shared_ptr<DeviceAllocator> present;

}  // namespace

std::shared_ptr<DeviceAllocator> cuda::device_allocator() {
  const std::scoped_lock lock(present_mutex);
  return present;
}

std::shared_ptr<DeviceAllocator> set_device_allocator(std::shared_ptr<DeviceAllocator> allocator) {
  const std::scoped_lock lock(present_mutex);
  return std::exchange(present, std::move(allocator));
}

}  // namespace culmen
