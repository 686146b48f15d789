// The devices of groups in tests: all GPUs of the machine, as often as it takes.
#pragma once

#include <cstddef>
#include <vector>

#include "culmen/device.h"

namespace culmen::test {

inline std::vector<int> devices_of(std::size_t count) {
  std::vector<int> devices(count);
  for (std::size_t d = 0; d < count; ++d) devices[d] = static_cast<int>(d) % num_devices();
  return devices;
}

}  // namespace culmen::test
