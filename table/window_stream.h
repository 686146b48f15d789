// A byte source as a sequence of windows, with the next one read while the present one is worked on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string_view>
#include <utility>

#include "table/byte_source.h"

namespace culmen::io {

enum class ReadPolicy : std::uint8_t {
  when_asked,   // full windows
  ahead,        // full windows, the next one read by a thread of its own
  as_it_comes,  // from a pipe, a window is what has come so far
};

// What one window leaves over (`carry`, an incomplete record) is put in front of the next.
class WindowStream {
 public:
  // `max_carry_bytes`: the most that next() will ever be given.
  WindowStream(ByteSource& source, std::size_t window_bytes, std::size_t max_carry_bytes, ReadPolicy policy);

  // ReadPolicy::as_it_comes: called ten times a second while nothing comes. What it throws, next() throws.
  void on_wait(std::function<void()> on_wait) { on_wait_ = std::move(on_wait); }

  // `carry` must be a tail of the window that was returned last; that window is void afterwards.
  std::string_view next(std::string_view carry);

  bool is_last() const { return is_last_; }        // the window returned last ends the stream
  Progress progress() const { return progress_; }  // when that window had been read

 private:
  char* next_buffer();
  std::size_t read_full(char* out);
  std::size_t read_what_comes(char* out, std::size_t num_wanted);
  void start_reading_ahead();

  std::size_t window_bytes_;
  std::size_t max_carry_bytes_;
  const ReadPolicy policy_;
  std::function<void()> on_wait_;
  ByteSource& source_;
  std::unique_ptr<char[]> buffers_[2];  // each: room for the carry, then the window
  int next_ = 0;                        // of the two
  bool is_last_ = false;
  Progress progress_;
  std::future<std::size_t> pending_read_;  // last: it must be done before the buffers go
};

}  // namespace culmen::io
