// read_only: a value in memory that no kernel writes while this one runs.
#pragma once

#include "base/host_device.h"

namespace culmen {

template <typename T>
CULMEN_HOST_DEVICE T read_only(const T* from) {
#ifdef __CUDA_ARCH__
  return __ldg(from);
#else
  return *from;
#endif
}

}  // namespace culmen
