#include "gpu/group/lane.h"

#include "gpu/cuda/peers.h"

namespace culmen::gpu {

Lane::Lane(int device, int home, bool copies, std::size_t scratch_bytes)
    : home_(home), copies_(copies), context_(device, {.stream = nullptr, .scratch_bytes = scratch_bytes}) {
  cuda::open_path(device, home);
  cuda::open_path(home, device);
}

void Lane::reserve(const DeviceBatch& share, std::size_t num_attributes) {
  if (!copies_) return;
  const std::size_t num_hits = share.num_queries * share.k;
  cuda::grow(weights_, share.num_queries * num_attributes, cuda::Memory::device);
  cuda::grow(ids_, num_hits, cuda::Memory::device);
  cuda::grow(scores_, num_hits, cuda::Memory::device);
  cuda::grow(counts_, share.num_queries, cuda::Memory::device);
}

void Lane::enqueue(const AsyncSearch& async, const MirrorView& view, const DeviceBatch& share,
                   const DeviceAnswers& answers, const cuda::Event& start, double* shared_bounds) {
  const cudaStream_t stream = context_.stream();
  cuda::check(cudaStreamWaitEvent(stream, start.get()));
  if (!copies_) {
    async.enqueue(view, share, answers, context_, shared_bounds);
    return;
  }
  const auto copy = [&](auto* to, int to_device, const auto* from, int from_device, std::size_t count) {
    cuda::check(cudaMemcpyPeerAsync(to, to_device, from, from_device, count * sizeof *to, stream));
  };
  const int here = context_.device();
  const std::size_t num_hits = share.num_queries * share.k;
  const auto num_attributes = static_cast<std::size_t>(view.snapshot->num_attributes());
  copy(weights_.data(), here, share.weights, home_, share.num_queries * num_attributes);
  DeviceBatch batch = share;
  batch.weights = weights_.data();
  async.enqueue(view, batch, {ids_.data(), scores_.data(), counts_.data()}, context_, shared_bounds);
  copy(answers.ids, home_, ids_.data(), here, num_hits);
  copy(answers.scores, home_, scores_.data(), here, num_hits);
  copy(answers.counts, home_, counts_.data(), here, share.num_queries);
}

}  // namespace culmen::gpu
