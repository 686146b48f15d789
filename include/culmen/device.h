// DeviceIndex: a copy of an index on a GPU, which answers the same queries with the same rows and score bits.
//
//   culmen::DeviceIndex on_gpu = index.to_device();
//   culmen::SearchResult best = on_gpu.search({.weights = {0.5, 1.2}, .k = 10});
//
// Thread safety: all const methods may be called from any thread at once; each call in flight has a stream
// and scratch memory of its own. A DeviceIndex is a handle; copying it is cheap and shares the copy on the
// device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/query.h"

namespace culmen {

// Where the rows are kept. Bounds are always in device memory: a search reads them first, and few rows.
enum class DeviceMemory : std::uint8_t {
  automatic,  // device if it fits, else host
  device,
  managed,  // unified memory; refused if it is more than the card has free
  host,     // pinned host memory, which the GPU reads over the bus
};

// "auto", "device", ... and back. Throws InvalidArgument listing the kinds.
DeviceMemory parse_device_memory(std::string_view name);
std::string_view device_memory_name(DeviceMemory memory);

struct DeviceOptions {
  int device = 0;  // as CUDA counts them
  DeviceMemory memory = DeviceMemory::automatic;
};

// GPUs that can be used; 0 if there is none, no driver, or this culmen was built without CUDA.
int num_devices() noexcept;

class DeviceIndex {
 public:
  // Exact top-k on the GPU. Engines: automatic, bounded, scan, gta (which takes k up to 1,024). Throws as
  // Index::search does, InvalidArgument for other engines, OutOfDeviceMemory and CudaError.
  // Cost: one kernel; 24 MB of scratch memory, more for a large k, kept for the next call.
  // Answers with more than 1,024 rows are sorted on the host.
  SearchResult search(const Query& query, Engine engine = Engine::automatic) const;

  // One result per query, in order; a warp works on each, so thousands are answered in the time of a few.
  std::vector<SearchResult> search(std::span<const Query> queries, Engine engine = Engine::automatic) const;

  int device() const;
  DeviceMemory memory() const;  // never automatic
  std::size_t device_bytes() const;

 private:
  friend class Index;
  class Impl;
  explicit DeviceIndex(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  static DeviceIndex make(std::shared_ptr<const Snapshot> snapshot, const DeviceOptions& options);

  std::shared_ptr<const Impl> impl_;
};

}  // namespace culmen
