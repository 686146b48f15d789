#include "table/window_stream.h"

#include <algorithm>
#include <cstring>

namespace culmen::io {

WindowStream::WindowStream(ByteSource& source, std::size_t window_bytes, std::size_t max_carry_bytes,
                           bool read_ahead)
    : window_bytes_(window_bytes),
      max_carry_bytes_(max_carry_bytes),
      read_policy_(read_ahead ? std::launch::async : std::launch::deferred),
      source_(source) {
  if (const auto num_bytes = source.num_bytes()) {  // small inputs need no large buffers
    window_bytes_ = static_cast<std::size_t>(std::min<std::uint64_t>(window_bytes, *num_bytes + 1));
    max_carry_bytes_ = static_cast<std::size_t>(std::min<std::uint64_t>(max_carry_bytes, *num_bytes));
  }
}

std::string_view WindowStream::next(std::string_view carry) {
  std::unique_ptr<char[]>& buffer = buffers_[next_buffer_];
  if (!buffer) buffer = std::make_unique_for_overwrite<char[]>(max_carry_bytes_ + window_bytes_);
  char* const fresh = buffer.get() + max_carry_bytes_;
  const std::size_t num_fresh =
      pending_read_.valid() ? pending_read_.get() : source_.read(fresh, window_bytes_);
  if (!carry.empty()) std::memcpy(fresh - carry.size(), carry.data(), carry.size());
  progress_ = source_.progress();
  is_last_ = num_fresh < window_bytes_;
  next_buffer_ ^= 1;
  if (!is_last_) {
    std::unique_ptr<char[]>& following = buffers_[next_buffer_];
    if (!following) following = std::make_unique_for_overwrite<char[]>(max_carry_bytes_ + window_bytes_);
    pending_read_ = std::async(read_policy_, [this, target = following.get() + max_carry_bytes_] {
      return source_.read(target, window_bytes_);
    });
  }
  return {fresh - carry.size(), carry.size() + num_fresh};
}

}  // namespace culmen::io
