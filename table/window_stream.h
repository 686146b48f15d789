// A byte source as a sequence of windows, with the next one read while the present one is worked on.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <string_view>

#include "table/byte_source.h"

namespace culmen::io {

// What one window leaves over (`carry`, an incomplete record) is put in front of the next.
class WindowStream {
 public:
  // `max_carry_bytes`: the most that next() will ever be given. `read_ahead`: read with a thread of its own.
  WindowStream(ByteSource& source, std::size_t window_bytes, std::size_t max_carry_bytes, bool read_ahead);

  // `carry` must be a tail of the window that was returned last; that window is void afterwards.
  std::string_view next(std::string_view carry);

  bool is_last() const { return is_last_; }        // the window returned last ends the stream
  Progress progress() const { return progress_; }  // when that window had been read

 private:
  std::size_t window_bytes_;
  std::size_t max_carry_bytes_;
  std::launch read_policy_;
  ByteSource& source_;
  std::unique_ptr<char[]> buffers_[2];  // each: room for the carry, then the window
  int next_buffer_ = 0;
  bool is_last_ = false;
  Progress progress_;
  std::future<std::size_t> pending_read_;  // last: it must be done before the buffers go
};

}  // namespace culmen::io
