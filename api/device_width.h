// GPUs take fewer attributes than the CPU.
#pragma once

#include <cstddef>
#include <string>

#include "culmen/error.h"
#include "culmen/schema.h"

namespace culmen {

inline void require_device_width(std::size_t num_attributes) {
  if (num_attributes > static_cast<std::size_t>(kMaxDeviceAttributes))
    throw InvalidArgument("a GPU takes up to " + std::to_string(kMaxDeviceAttributes) + " attributes, not " +
                          std::to_string(num_attributes) + ": build and search this index on the CPU");
}

}  // namespace culmen
