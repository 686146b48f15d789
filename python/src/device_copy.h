// culmen.DeviceIndex, the copy of an index on a GPU.
#pragma once

#include "culmen/device.h"
#include "culmen/index.h"

namespace culmen::python {

struct DeviceCopy {
  Index index;  // resolves names in queries, and rows of answers
  DeviceIndex on_gpu;
};

}  // namespace culmen::python
