// A set of attributes, a bit each, as kernels read it.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace culmen::gpu {

struct AttributeBits {
  const std::uint64_t* words;
  std::int32_t num_words;  // attributes beyond these are not in the set

  CULMEN_HOST_DEVICE bool has(std::uint32_t attribute) const {
    const auto word = static_cast<std::int32_t>(attribute / 64);
    return word < num_words && (words[word] >> attribute % 64 & 1) != 0;
  }
};

}  // namespace culmen::gpu
