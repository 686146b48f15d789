// DeviceIndex in a culmen that was built without CUDA: there is no device to put an index on.
#include "culmen/device.h"

#include <string>

#include "culmen/error.h"

namespace culmen {

class DeviceIndex::Impl {};

int num_devices() noexcept {
  return 0;
}

DeviceIndex DeviceIndex::make(std::shared_ptr<const Snapshot> /*snapshot*/, const DeviceOptions& options) {
  throw CudaError("there is no GPU " + std::to_string(options.device) +
                  ": this culmen was built without CUDA; build it where a CUDA toolkit is found");
}

// None of these can be called: there is no way to make a DeviceIndex.
SearchResult DeviceIndex::search(const Query& /*query*/, Engine /*engine*/) const {
  return {};
}
std::vector<SearchResult> DeviceIndex::search(std::span<const Query> /*queries*/, Engine /*engine*/) const {
  return {};
}
int DeviceIndex::device() const {
  return -1;
}
DeviceMemory DeviceIndex::memory() const {
  return DeviceMemory::device;
}
std::size_t DeviceIndex::device_bytes() const {
  return 0;
}

}  // namespace culmen
