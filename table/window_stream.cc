#include "table/window_stream.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace culmen::io {

WindowStream::WindowStream(ByteSource& source, std::size_t window_bytes, ReadPolicy policy)
    : window_bytes_(bytes_to_read(source, window_bytes)), policy_(policy), source_(source) {}

std::string_view WindowStream::next(std::string_view carry) {
  char* const fresh = next_buffer() + kCarryRoom;
  const std::size_t num_fresh =
      policy_ == ReadPolicy::as_it_comes ? read_what_comes(fresh, carry.size()) : read_full(fresh);
  const std::string_view window = join(carry, fresh, num_fresh);
  progress_ = source_.progress();
  next_ ^= 1;
  if (policy_ == ReadPolicy::ahead && !is_last_) start_reading_ahead();
  return window;
}

// fresh: in a buffer, behind kCarryRoom.
std::string_view WindowStream::join(std::string_view carry, char* fresh, std::size_t num_fresh) {
  if (carry.size() > kCarryRoom) {
    std::string joined(carry);  // which may be a part of joined_
    joined_ = std::move(joined.append(fresh, num_fresh));
    return joined_;
  }
  char* const begin = fresh - carry.size();
  if (!carry.empty()) std::memcpy(begin, carry.data(), carry.size());
  return {begin, carry.size() + num_fresh};
}

char* WindowStream::next_buffer() {
  std::unique_ptr<char[]>& buffer = buffers_[next_];
  if (!buffer) buffer = std::make_unique_for_overwrite<char[]>(kCarryRoom + window_bytes_);
  return buffer.get();
}

std::size_t WindowStream::read_full(char* out) {
  const std::size_t num_read = pending_read_.valid() ? pending_read_.get() : source_.read(out, window_bytes_);
  is_last_ = num_read < window_bytes_;
  return num_read;
}

void WindowStream::start_reading_ahead() {
  pending_read_ = std::async(std::launch::async, [this, out = next_buffer() + kCarryRoom] {
    return source_.read(out, window_bytes_);
  });
}

// Waits for the first bytes, then reads while more arrive, up to `num_wanted`: otherwise a long carry would be parsed
// again for every few bytes.
std::size_t WindowStream::read_what_comes(char* out, std::size_t num_wanted) {
  std::size_t num_read = 0;
  while (num_read < window_bytes_) {
    const std::optional<std::size_t> got =
        source_.read_available(out + num_read, window_bytes_ - num_read, patience_ ? patience_() : kPatience);
    is_last_ = got == std::size_t{0};
    num_read += got.value_or(0);
    if (is_last_ || (got && num_read >= num_wanted) || (!got && num_read > 0)) break;
    if (!got && on_wait_) on_wait_();
  }
  return num_read;
}

}  // namespace culmen::io
