// Splits a byte source into windows, and reads the next one while the current one is processed.
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
  ahead,        // full windows, the next one read by another thread
  as_it_comes,  // from a pipe: a window is what has arrived
};

// The rest of a window (`carry`, an incomplete record) is prepended to the next.
class WindowStream {
 public:
  // `max_carry_bytes`: the maximum that next() will ever be given.
  WindowStream(ByteSource& source, std::size_t window_bytes, std::size_t max_carry_bytes, ReadPolicy policy);

  // For ReadPolicy::as_it_comes: called ten times a second while no data arrives. next() throws what it throws.
  void on_wait(std::function<void()> on_wait) { on_wait_ = std::move(on_wait); }

  // `carry` must be a tail of the window that was returned last; that window is void afterwards.
  std::string_view next(std::string_view carry);

  bool is_last() const { return is_last_; }        // the last window returned ends the stream
  Progress progress() const { return progress_; }  // after that window was read

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
  std::unique_ptr<char[]> buffers_[2];  // each: space for the carry, then the window
  int next_ = 0;                        // of the two
  bool is_last_ = false;
  Progress progress_;
  std::future<std::size_t> pending_read_;  // last member: it must finish before the buffers are freed
};

}  // namespace culmen::io
