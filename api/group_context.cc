#include "api/group_context.h"

#include <algorithm>
#include <utility>

#include "api/handle.h"
#include "gpu/cuda/error.h"

namespace culmen {
namespace {

constexpr const char* kKind = "GroupContext";
constexpr std::size_t kMostPartBytes = std::size_t{1} << 30;  // larger batches gain nothing by being one

}  // namespace

GroupContext::Impl::Impl(std::span<const int> devices, const GroupContextOptions& options)
    : home_(options.device == kNoDevice ? devices.front() : options.device),
      scratch_bytes_(options.scratch_bytes),
      devices_(devices.begin(), devices.end()),
      scope_(home_),
      stream_(options.stream) {
  if (stream_ == nullptr) stream_ = own_stream_.emplace().get();
  scope_.reset();
  for (const int device : devices) {
    const cuda::DeviceScope scope(device);
    lanes_.push_back(std::make_unique<gpu::Lane>(device, home_, device != home_, options.scratch_bytes));
  }
}

bool GroupContext::Impl::is_for(std::span<const int> devices) const {
  return std::ranges::equal(devices, devices_);
}

const cuda::Event& GroupContext::Impl::mark_start() {
  const cuda::DeviceScope scope(home_);  // selects which default stream is meant
  start_.record(stream_);
  return start_;
}

void GroupContext::Impl::wait_for(const cuda::Event& end) {
  const cuda::DeviceScope scope(home_);
  cuda::check(cudaStreamWaitEvent(stream_, end.get()));
}

void GroupContext::Impl::synchronize() const {
  const cuda::DeviceScope scope(home_);
  cuda::check(cudaStreamSynchronize(stream_));
  for (const std::unique_ptr<gpu::Lane>& lane : lanes_) lane->synchronize();
}

std::size_t GroupContext::Impl::queries_at_once(std::size_t k) const {
  const std::size_t most_bytes =
      scratch_bytes_ == 0 ? kMostPartBytes : std::min(scratch_bytes_, kMostPartBytes);
  return gpu::PartAnswers::queries_at_once(lanes_.size(), k, most_bytes);
}

gpu::PartAnswers& GroupContext::Impl::start_parts(const DeviceBatch& batch) {
  if (!parts_.has_room(lanes_.size(), batch)) {
    synchronize();  // what there is may still be in use
    parts_.reserve(lanes_.size(), batch);
  }
  parts_.start(lanes_.size(), batch, stream_);
  return parts_;
}

GroupContext::GroupContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GroupContext::GroupContext(GroupContext&& other) noexcept = default;
GroupContext& GroupContext::operator=(GroupContext&& other) noexcept = default;
GroupContext::~GroupContext() = default;

void GroupContext::synchronize() const {
  held_by(impl_, kKind).synchronize();
}

CUstream_st* GroupContext::stream() const {
  return held_by(impl_, kKind).stream();
}

int GroupContext::device() const {
  return held_by(impl_, kKind).home();
}

}  // namespace culmen
