// PartAnswers: what devices with parts of an index find for a batch, on the home, where it is merged.
#pragma once

#include <cstddef>
#include <cstdint>

#include "culmen/device.h"
#include "gpu/cuda/buffer.h"
#include "gpu/group/merge_parts.h"

namespace culmen::gpu {

class PartAnswers {
 public:
  // The home is current here, and in all calls.
  PartAnswers() = default;
  ~PartAnswers() { cudaEventSynchronize(merged_.get()); }
  PartAnswers(const PartAnswers&) = delete;
  PartAnswers& operator=(const PartAnswers&) = delete;

  // Queries of a batch that are answered at once, 1 or more, if the answers may take so many bytes.
  static std::size_t queries_at_once(std::size_t num_parts, std::size_t k, std::size_t most_bytes);

  bool has_room(std::size_t num_parts, const DeviceBatch& batch) const;
  // Nothing that was enqueued before uses the memory any more. Throws OutOfDeviceMemory.
  void reserve(std::size_t num_parts, const DeviceBatch& batch);

  // Enqueues what comes before the searches of a batch, which has room. Throws CudaError.
  void start(std::size_t num_parts, const DeviceBatch& batch, cudaStream_t stream);
  // For the searches: where the answers of a part go, and the k-th score bounds that all share (BatchRef).
  DeviceAnswers of_part(std::size_t part) const;
  double* shared_bounds() const { return bounds_.data(); }
  // Enqueues what comes after them. Throws CudaError.
  void merge(const DeviceAnswers& answers, cudaStream_t stream) {
    launch_merge_parts(parts_, answers, stream);
    merged_.record(stream);
  }

 private:
  cuda::Buffer<std::int64_t> ids_;
  cuda::Buffer<double> scores_;
  cuda::Buffer<std::uint32_t> counts_;
  cuda::Buffer<double> bounds_;  // pinned: without a path between them devices share nothing else
  PartsRef parts_ = {};
  cuda::Event merged_;
};

}  // namespace culmen::gpu
