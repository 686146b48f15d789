// Turns CUDA status codes into the exceptions of include/culmen/error.h.
#pragma once

#include <cuda_runtime_api.h>

#include <exception>

namespace culmen::cuda {

// Throws OutOfDeviceMemory or CudaError, naming the caller's line, unless `status` is cudaSuccess.
void check(cudaError_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// An error of CUDA on this device, which it then names; null for other errors.
std::exception_ptr as_fault_of(int device, const std::exception_ptr& error);

// As CUDA counts them; 0 on an error.
int num_devices() noexcept;
// Throws CudaError unless there is such a device.
void require_device(int device);

// Throws CudaError.
int current_device();

// Makes `device` current during its own lifetime.
class DeviceScope {
 public:
  explicit DeviceScope(int device) : device_(device) {
    check(cudaGetDevice(&previous_));
    if (device_ != previous_) check(cudaSetDevice(device_));
  }
  ~DeviceScope() {
    if (device_ != previous_) cudaSetDevice(previous_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int device_;
  int previous_ = 0;
};

}  // namespace culmen::cuda
