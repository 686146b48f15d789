#include "tools/progress_bar.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tools/streams.h"

namespace culmen::tools {
namespace {

constexpr auto kFirstDraw = std::chrono::milliseconds(200);  // short work shows no bar
constexpr auto kRedraw = std::chrono::milliseconds(50);
constexpr int kWidth = 30;

bool terminal_can_erase() {
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

ProgressBar::ProgressBar(bool quiet)
    : active_(!quiet && stderr_is_terminal() && terminal_can_erase()),
      next_draw_(std::chrono::steady_clock::now() + kFirstDraw) {}

ProgressBar::~ProgressBar() {
  wipe();
}

void ProgressBar::show(std::string_view phase, double fraction) {
  if (!active_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // another thread is drawing; do not wait for it
  const auto now = std::chrono::steady_clock::now();
  if (now < next_draw_) return;
  next_draw_ = now + kRedraw;
  drawn_ = true;
  if (fraction < 0) {
    say("\r\033[K{}", phase);
  } else {
    const double share = std::min(fraction, 1.0);
    const std::string done(static_cast<std::size_t>(share * kWidth), '#');
    say("\r\033[K{:<12} [{:<{}}] {:3.0f} %", phase, done, kWidth, 100 * share);
  }
}

void ProgressBar::wipe() {
  const std::lock_guard lock(mutex_);
  if (!drawn_) return;
  drawn_ = false;
  write_message("\r\033[K");
}

}  // namespace culmen::tools
