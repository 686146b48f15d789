#include "gpu/cuda/error.h"

#include <string>
#include <string_view>

#include "culmen/error.h"

namespace culmen::cuda {
namespace {

// Returns 0 on an error.
cudaError_t count_devices(int& count) noexcept {
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return status;
  cudaGetLastError();  // clears the error, which the next call would report
  count = 0;
  return status;
}

}  // namespace

int num_devices() noexcept {
  int count = 0;
  count_devices(count);
  return count;
}

void require_device(int device) {
  int count = 0;
  const cudaError_t status = count_devices(count);
  if (device < 0 || device >= count)
    throw CudaError("there is no GPU " + std::to_string(device) + ": " +
                    (count > 0 ? std::to_string(count) + " can be used, counted from 0"
                               : cudaGetErrorString(status) + std::string("; use the CPU")));
}

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device));
  return device;
}

std::exception_ptr as_fault_of(int device, const std::exception_ptr& error) {
  const auto text = [device](const CudaError& fault) {
    return "GPU " + std::to_string(device) + ": " + fault.what();
  };
  try {
    std::rethrow_exception(error);
  } catch (const CudaError& fault) {
    if (fault.device() >= 0) return error;
    if (dynamic_cast<const OutOfDeviceMemory*>(&fault) == nullptr)
      return std::make_exception_ptr(CudaError(text(fault), device));
    return std::make_exception_ptr(OutOfDeviceMemory(text(fault), device));
  } catch (...) {
    return nullptr;
  }
}

void check(cudaError_t status, const char* file, int line) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error, which the next call would report
  // Without folders: they are those of the machine that compiled it.
  const std::string_view path = file;
  const std::string name(path.substr(path.rfind('/') + 1));
  const std::string text = std::string("CUDA: ") + cudaGetErrorString(status) + " (" +
                           cudaGetErrorName(status) + ", " + name + ":" + std::to_string(line) + ")";
  if (status == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(text);
  throw CudaError(text);
}

}  // namespace culmen::cuda
