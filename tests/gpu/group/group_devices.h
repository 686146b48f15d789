// The devices of groups in tests: all GPUs of the machine, as often as it takes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "api/device_group.h"
#include "culmen/device_group.h"

namespace culmen::test {

inline std::vector<int> devices_of(std::size_t count) {
  std::vector<int> devices(count);
  for (std::size_t d = 0; d < count; ++d) devices[d] = static_cast<int>(d) % num_devices();
  return devices;
}

// Over versions that the test publishes.
inline DeviceGroup group_over(const std::shared_ptr<const Published>& published, std::size_t count,
                              DeviceMemory memory, DeviceLayout layout = DeviceLayout::replicate) {
  std::vector<DeviceOptions> options;
  for (const int device : devices_of(count)) options.push_back({.device = device, .memory = memory});
  return make_device_group(published, options, std::vector<std::shared_ptr<const gpu::LoadedTree>>(count),
                           layout);
}

}  // namespace culmen::test
