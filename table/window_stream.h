// Splits a byte source into windows. With ReadPolicy::ahead another thread reads the next window while the caller
// processes the current one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "table/byte_source.h"

namespace culmen::io {

enum class ReadPolicy : std::uint8_t {
  when_asked,   // full windows, read by next()
  ahead,        // full windows, the next one read by another thread
  as_it_comes,  // for a pipe: a window holds what has arrived
};

// What the caller could not process (`carry`: an incomplete record at the end of a window) begins the next window.
class WindowStream {
 public:
  WindowStream(ByteSource& source, std::size_t window_bytes, ReadPolicy policy);

  // For ReadPolicy::as_it_comes: next() calls on_wait when no data has arrived for as long as patience() said, and passes
  // on what it throws.
  void on_wait(std::function<void()> on_wait, std::function<std::chrono::milliseconds()> patience) {
    on_wait_ = std::move(on_wait);
    patience_ = std::move(patience);
  }

  // Returns the next window. `carry` must be a tail of the window that was returned last, which is invalid afterwards.
  std::string_view next(std::string_view carry);

  bool is_last() const { return is_last_; }        // the last window returned ends the stream
  Progress progress() const { return progress_; }  // after that window was read

 private:
  static constexpr std::size_t kCarryRoom = std::size_t{64} << 10;

  char* next_buffer();
  std::string_view join(std::string_view carry, char* fresh, std::size_t num_fresh);
  std::size_t read_full(char* out);
  std::size_t read_what_comes(char* out, std::size_t num_wanted);
  void start_reading_ahead();

  const std::size_t window_bytes_;
  const ReadPolicy policy_;
  std::function<void()> on_wait_;
  std::function<std::chrono::milliseconds()> patience_;
  ByteSource& source_;
  std::unique_ptr<char[]> buffers_[2];  // each: kCarryRoom, then the window
  std::string joined_;                  // a window whose carry does not fit before it
  int next_ = 0;                        // the buffer that is filled next: 0 or 1
  bool is_last_ = false;
  Progress progress_;
  std::future<std::size_t> pending_read_;  // last member: it must finish before the buffers are freed
};

}  // namespace culmen::io
