#include "gpu/search/context.h"

#include <algorithm>
#include <limits>

#include "culmen/error.h"

namespace culmen::gpu {

Context::Context(int device, const ContextOptions& options)
    : device_(device),
      stream_(options.stream),
      max_scratch_bytes_(options.scratch_bytes == 0 ? std::numeric_limits<std::size_t>::max()
                                                    : options.scratch_bytes) {
  if (stream_ == nullptr) stream_ = own_stream_.emplace().get();
}

// Waits for events, not for the stream, which the caller may have destroyed. Errors are ignored: a caller who wants
// them calls synchronize() first.
Context::~Context() {
  for (const Held& held : held_) cudaEventSynchronize(held.end.get());
}

void Context::synchronize() const {
  const cuda::DeviceScope scope(device_);  // selects which default stream is meant
  cuda::check(cudaStreamSynchronize(stream_));
  held_.clear();
}

std::byte* Context::scratch(std::size_t num_bytes) {
  if (scratch_.size() < num_bytes) {
    synchronize();  // the old one is still in use
    cuda::grow(scratch_, num_bytes, cuda::Memory::device, max_scratch_bytes_);
    // Packed queries are copied by whole strides, even if they are shorter.
    cuda::check(cudaMemsetAsync(scratch_.data(), 0, scratch_.size(), stream_));
  }
  return scratch_.data();
}

Context::Use Context::use(const MirrorView& view) {
  const auto is_done = [&view](const Held& held) {
    return held.view.mirror != view.mirror && held.end.has_passed();
  };
  held_.remove_if(is_done);
  const auto same = [&view](const Held& held) { return held.view.mirror == view.mirror; };
  if (std::ranges::none_of(held_, same)) held_.emplace_back().view = view;
  return {std::ranges::find_if(held_, same)->end, stream_};
}

}  // namespace culmen::gpu
