// culmen.DeviceIndex, the copy of an index on a GPU, and culmen.DeviceGroup, those on several.
#pragma once

#include "culmen/device.h"
#include "culmen/device_group.h"
#include "culmen/index.h"

namespace culmen::python {

struct DeviceCopy {
  Index index;  // resolves names in queries, and rows of answers
  DeviceIndex on_gpu;
};

struct GroupCopy {
  Index index;
  DeviceGroup on_gpu;
};

}  // namespace culmen::python
