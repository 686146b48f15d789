// How fast a GPU launches, reads and copies.
#pragma once

namespace culmen::gpu {

// Of an H100.
struct DeviceSpeed {
  double launch_ns = 8'200;      // to launch a kernel and wait for its end
  double read_ns_per_kb = 0.34;  // read by the GPU
  double copy_ns_per_kb = 80;    // copied to the GPU
};

// Cost: some ten milliseconds, 64 MiB of memory on the device and 32 on the host. Throws OutOfDeviceMemory or
// CudaError.
DeviceSpeed measure_device_speed(int device);

// The GPU with the most free memory, the first of equals. Throws CudaError if there is none.
int roomiest_device();

}  // namespace culmen::gpu
