#include "gpu/group/part_answers.h"

#include <algorithm>

#include "gpu/search/share_bounds.h"

namespace culmen::gpu {

std::size_t PartAnswers::queries_at_once(std::size_t num_parts, std::size_t k, std::size_t most_bytes) {
  const std::size_t hit = sizeof(std::int64_t) + sizeof(double);
  return std::max<std::size_t>(most_bytes / (num_parts * (k * hit + sizeof(std::uint32_t))), 1);
}

bool PartAnswers::has_room(std::size_t num_parts, const DeviceBatch& batch) const {
  const std::size_t num_lists = num_parts * batch.num_queries;
  return std::min(ids_.size(), scores_.size()) >= num_lists * batch.k && counts_.size() >= num_lists &&
         bounds_.size() >= batch.num_queries;
}

void PartAnswers::reserve(std::size_t num_parts, const DeviceBatch& batch) {
  const std::size_t num_lists = num_parts * batch.num_queries;
  cuda::grow(ids_, num_lists * batch.k, cuda::Memory::device);
  cuda::grow(scores_, num_lists * batch.k, cuda::Memory::device);
  cuda::grow(counts_, num_lists, cuda::Memory::device);
  cuda::grow(bounds_, batch.num_queries, cuda::Memory::pinned);
}

void PartAnswers::start(std::size_t num_parts, const DeviceBatch& batch, cudaStream_t stream) {
  parts_ = {ids_.data(),
            scores_.data(),
            counts_.data(),
            static_cast<std::uint32_t>(num_parts),
            static_cast<std::uint32_t>(batch.num_queries),
            static_cast<std::uint32_t>(batch.k)};
  launch_clear_bounds(bounds_.data(), parts_.num_queries, stream);
}

DeviceAnswers PartAnswers::of_part(std::size_t part) const {
  const std::size_t first = part * parts_.num_queries;
  return {parts_.ids + first * parts_.k, parts_.scores + first * parts_.k, parts_.counts + first};
}

}  // namespace culmen::gpu
