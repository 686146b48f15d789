// What a search looks at now and then while it works: whether its caller still wants an answer. And where its caller sees
// how far it is.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>

#include "culmen/error.h"
#include "culmen/search.h"

namespace culmen {

// Of one call, whose options must live as long. Any number of threads may work on its questions.
class Watch {
 public:
  // num_parts: of a question, which count_answered() counts one by one.
  Watch(const SearchOptions& options, std::size_t num_questions, std::size_t num_parts = 1)
      : stop_(options.stop),
        on_progress_(options.on_progress),
        num_questions_(num_questions),
        num_parts_(num_parts) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Null if the caller neither can stop the search nor wants to know: then nobody need look.
  Watch* if_any() { return on_progress_ || stop_.stop_possible() ? this : nullptr; }

  // Throws Stopped, or what on_progress throws.
  void look() {
    if (stop_.stop_requested()) throw Stopped();
    if (on_progress_ && std::this_thread::get_id() == caller_ && ++num_looks_ >= looks_for_the_clock_)
      look_at_the_clock();
  }
  // The same where some milliseconds have gone by.
  void look_after_a_while() {
    if (stop_.stop_requested()) throw Stopped();
    if (on_progress_ && std::this_thread::get_id() == caller_) report(Clock::now());
  }
  void count_answered(std::size_t num_questions) {
    num_answered_.fetch_add(num_questions, std::memory_order_relaxed);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetweenReports{50};
  // The clock takes as long to read as some nodes, but a node of a query with thousands of terms or conditions takes
  // milliseconds. So it is read for every look at first, and for fewer while looks follow each other quickly.
  static constexpr std::uint32_t kMostLooksForTheClock = 64;
  static constexpr std::chrono::milliseconds kSlow{1};

  void look_at_the_clock() {
    const Clock::time_point now = Clock::now();
    const bool is_slow = now - last_look_ > kSlow;
    looks_for_the_clock_ = is_slow ? 1 : std::min(2 * looks_for_the_clock_, kMostLooksForTheClock);
    num_looks_ = 0;
    last_look_ = now;
    report(now);
  }

  void report(Clock::time_point now) {
    if (now - last_report_ < kBetweenReports) return;
    last_report_ = now;
    on_progress_(num_answered_.load(std::memory_order_relaxed) / num_parts_, num_questions_);
  }

  const std::stop_token stop_;
  const std::function<void(std::size_t, std::size_t)>& on_progress_;
  const std::size_t num_questions_, num_parts_;
  std::atomic<std::size_t> num_answered_ = 0;
  // Of the thread that called, alone:
  const std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point last_report_ = on_progress_ ? Clock::now() : Clock::time_point();
  Clock::time_point last_look_ = last_report_;  // at the clock
  std::uint32_t num_looks_ = 0;                 // since then
  std::uint32_t looks_for_the_clock_ = 1;
};

// The same of a watch that may be null.
inline void look_at(Watch* watch) {
  if (watch != nullptr) [[unlikely]]
    watch->look();
}
inline void look_after_a_while(Watch* watch) {
  if (watch != nullptr) watch->look_after_a_while();
}
inline void count_answered(Watch* watch, std::size_t num_questions) {
  if (watch != nullptr) watch->count_answered(num_questions);
}

}  // namespace culmen
