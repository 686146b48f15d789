#include "gpu/cuda/growing_buffer.h"

#include <cuda.h>

#include <algorithm>
#include <utility>

#include "gpu/cuda/allocation_fault.h"
#include "gpu/cuda/device_allocator.h"
#include "gpu/cuda/error.h"

namespace culmen::cuda {
namespace {

// Allocates 1/kPartOnTop more than needed: an allocation of pages costs the same for few and for many.
constexpr std::size_t kPartOnTop = 32;

// A function of the driver, which the runtime has loaded, so that nothing is linked to it. Null if the driver does
// not have it.
template <typename Function>
Function* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  constexpr unsigned kVersion = 12000;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess) cudaGetLastError();  // clears the error, which the next call would report
  return status == cudaSuccess && found == cudaDriverEntryPointSuccess ? reinterpret_cast<Function*>(function)
                                                                       : nullptr;
}

// The driver's functions for virtual addresses and physical memory.
struct Driver {
  decltype(cuDeviceGetAttribute)* DeviceGetAttribute =
      driver_function<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  decltype(cuMemGetAllocationGranularity)* MemGetAllocationGranularity =
      driver_function<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  decltype(cuMemAddressReserve)* MemAddressReserve =
      driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(cuMemAddressFree)* MemAddressFree =
      driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree");
  decltype(cuMemCreate)* MemCreate = driver_function<decltype(cuMemCreate)>("cuMemCreate");
  decltype(cuMemRelease)* MemRelease = driver_function<decltype(cuMemRelease)>("cuMemRelease");
  decltype(cuMemMap)* MemMap = driver_function<decltype(cuMemMap)>("cuMemMap");
  decltype(cuMemUnmap)* MemUnmap = driver_function<decltype(cuMemUnmap)>("cuMemUnmap");
  decltype(cuMemSetAccess)* MemSetAccess = driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess");

  bool is_complete() const {
    return DeviceGetAttribute != nullptr && MemGetAllocationGranularity != nullptr &&
           MemAddressReserve != nullptr && MemAddressFree != nullptr && MemCreate != nullptr &&
           MemRelease != nullptr && MemMap != nullptr && MemUnmap != nullptr && MemSetAccess != nullptr;
  }
};

const Driver& driver() {
  static const Driver instance;
  return instance;
}

// Driver and runtime have the same codes.
void check_driver(CUresult status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  check(static_cast<cudaError_t>(status), file, line);
}

bool can_reserve(int device) {
  int can = 0;
  return driver().is_complete() &&
         driver().DeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) ==
             CUDA_SUCCESS &&
         can != 0;
}

CUmemAllocationProp pages_of(int device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;  // it does not migrate
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

std::size_t in_pages(std::size_t num_bytes, int device) {
  const CUmemAllocationProp properties = pages_of(device);
  std::size_t page = 0;
  check_driver(
      driver().MemGetAllocationGranularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  return (num_bytes + page - 1) / page * page;
}

CUdeviceptr address_of(const std::byte* data) {
  return reinterpret_cast<CUdeviceptr>(data);
}

CUresult create_pages(CUmemGenericAllocationHandle* pages, std::size_t num_bytes, int device) {
  if (AllocationFault::strikes()) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUmemAllocationProp properties = pages_of(device);
  return driver().MemCreate(pages, num_bytes, &properties, 0);
}

}  // namespace

bool GrowingBuffer::can_grow(Memory memory) {
  return memory == Memory::device && device_allocator() == nullptr && can_reserve(current_device());
}

GrowingBuffer::GrowingBuffer(std::size_t num_bytes, std::size_t capacity, Memory memory)
    : device_(current_device()) {
  if (num_bytes == 0) return;
  if (!can_grow(memory)) {
    piece_ = Allocation(num_bytes, memory);
    data_ = static_cast<std::byte*>(piece_.data());
    size_ = num_bytes;
    return;
  }
  GrowingBuffer fresh;  // frees what it has if the rest fails
  fresh.device_ = device_;
  fresh.reserve(in_pages(std::max(num_bytes, capacity), device_));
  fresh.append(in_pages(num_bytes, device_));
  *this = std::move(fresh);
}

GrowingBuffer::GrowingBuffer(GrowingBuffer&& other) noexcept {
  *this = std::move(other);
}

GrowingBuffer& GrowingBuffer::operator=(GrowingBuffer&& other) noexcept {
  piece_ = std::move(other.piece_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(device_, other.device_);
  std::swap(pieces_, other.pieces_);
  return *this;
}

GrowingBuffer::~GrowingBuffer() {
  if (capacity_ > 0) give_back_pages();
}

void GrowingBuffer::give_back_pages() noexcept {
  int previous = device_;
  cudaGetDevice(&previous);
  if (previous != device_) cudaSetDevice(device_);
  cudaDeviceSynchronize();  // unmapping does not wait for kernels that read the memory
  if (previous != device_) cudaSetDevice(previous);
  std::size_t first = 0;
  for (const std::size_t piece : pieces_) {
    driver().MemUnmap(address_of(data_ + first), piece);
    first += piece;
    count_allocation(-1);
  }
  driver().MemAddressFree(address_of(data_), capacity_);
}

bool GrowingBuffer::grow(std::size_t num_bytes) {
  if (num_bytes <= size_) return true;
  if (num_bytes > capacity_) return false;
  append(std::min(in_pages(std::max(num_bytes, size_ + size_ / kPartOnTop), device_), capacity_) - size_);
  return true;
}

void GrowingBuffer::reserve(std::size_t capacity) {
  CUdeviceptr address = 0;
  check_driver(driver().MemAddressReserve(&address, capacity, 0, 0, 0));
  data_ = reinterpret_cast<std::byte*>(address);
  capacity_ = capacity;
}

void GrowingBuffer::append(std::size_t num_bytes) {
  pieces_.reserve(pieces_.size() + 1);  // may throw: before there is something to release
  CUmemGenericAllocationHandle pages = 0;
  const CUresult status = create_pages(&pages, num_bytes, device_);
  if (status == CUDA_ERROR_OUT_OF_MEMORY) throw_no_room(num_bytes, Memory::device);
  check_driver(status);
  const CUdeviceptr address = address_of(data_ + size_);
  const CUresult mapped = driver().MemMap(address, num_bytes, 0, pages, 0);
  driver().MemRelease(pages);  // the mapping keeps the memory
  check_driver(mapped);
  const CUmemAccessDesc access = {pages_of(device_).location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const CUresult opened = driver().MemSetAccess(address, num_bytes, &access, 1);
  if (opened != CUDA_SUCCESS) driver().MemUnmap(address, num_bytes);
  check_driver(opened);
  pieces_.push_back(num_bytes);
  size_ += num_bytes;
  count_allocation(1);
}

}  // namespace culmen::cuda
