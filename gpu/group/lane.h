// Lane: what one device of a group does of batches whose weights and answers are in the memory of another device, the
// home.
#pragma once

#include <cstddef>

#include "culmen/device.h"
#include "gpu/cuda/buffer.h"
#include "gpu/mirror/mirror_version.h"
#include "gpu/search/async_search.h"
#include "gpu/search/context.h"

namespace culmen::gpu {

class Lane {
 public:
  // On a stream of its own. The device of the lane is current here, and in all calls. copies: the device does not work
  // on the home's memory itself. scratch_bytes: as in ContextOptions.
  Lane(int device, int home, bool copies, std::size_t scratch_bytes);
  ~Lane() { cudaStreamSynchronize(context_.stream()); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Makes room for the weights and answers of a share of a batch. Throws OutOfDeviceMemory.
  void reserve(const DeviceBatch& share, std::size_t num_attributes);
  // Enqueues the share, which begins after `start` and ends before end(). Its weights and answers are on the home.
  // shared_bounds: as in AsyncSearch. Throws as DeviceIndex::search_async.
  void enqueue(const AsyncSearch& async, const MirrorView& view, const DeviceBatch& share,
               const DeviceAnswers& answers, const cuda::Event& start, double* shared_bounds = nullptr);
  // Of all that was enqueued, also if that failed half-way. Throws CudaError.
  const cuda::Event& end() {
    end_.record(context_.stream());
    return end_;
  }
  // Waits for it, and releases the views.
  void synchronize() const { context_.synchronize(); }

 private:
  int home_;
  bool copies_;
  cuda::Buffer<double> weights_;
  cuda::Buffer<std::int64_t> ids_;
  cuda::Buffer<double> scores_;
  cuda::Buffer<std::uint32_t> counts_;
  cuda::Event end_;
  Context context_;
};

}  // namespace culmen::gpu
