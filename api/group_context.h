// The implementation of GroupContext: a stream on the home, where weights and answers are, a lane for each member, and
// room on the home for what members find that have parts of an index.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "culmen/device_group.h"
#include "gpu/cuda/buffer.h"
#include "gpu/group/lane.h"
#include "gpu/group/part_answers.h"

namespace culmen {

class GroupContext::Impl {
 public:
  // devices: of the group's members. Throws OutOfDeviceMemory or CudaError.
  Impl(std::span<const int> devices, const GroupContextOptions& options);

  int home() const { return home_; }
  cudaStream_t stream() const { return stream_; }
  // Whether the group has these members.
  bool is_for(std::span<const int> devices) const;
  gpu::Lane& lane(std::size_t member) { return *lanes_[member]; }

  // The point that the stream has reached now; what is enqueued after wait_for() begins after `end`.
  const cuda::Event& mark_start();
  void wait_for(const cuda::Event& end);
  void synchronize() const;

  // With the home current. Queries of a batch that parts answer at once.
  std::size_t queries_at_once(std::size_t k) const;
  // Enqueues what comes before the searches of parts, and waits first if there must be more room. Throws
  // OutOfDeviceMemory or CudaError.
  gpu::PartAnswers& start_parts(const DeviceBatch& batch);

 private:
  int home_;
  std::size_t scratch_bytes_;
  std::vector<int> devices_;
  std::optional<cuda::DeviceScope> scope_;  // of the home, during construction only
  std::optional<cuda::Stream> own_stream_;
  cudaStream_t stream_;
  cuda::Event start_;
  gpu::PartAnswers parts_;
  std::vector<std::unique_ptr<gpu::Lane>> lanes_;  // wait for their streams, which use the parts
};

}  // namespace culmen
