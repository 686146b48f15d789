// How fast a GPU launches, reads and copies.
#pragma once

namespace culmen::gpu {

// Of an H100.
struct DeviceSpeed {
  double launch_ns = 8'200;      // a kernel on the GPU and its answer on the host
  double read_ns_per_kb = 0.34;  // that the GPU reads
  double copy_ns_per_kb = 80;    // that is copied to the GPU
};

// Cost: some ten milliseconds, 64 MiB of memory on the device and 32 on the host. Throws OutOfDeviceMemory or
// CudaError.
DeviceSpeed measure_device_speed(int device);

}  // namespace culmen::gpu
