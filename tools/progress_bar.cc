#include "tools/progress_bar.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tools/output.h"

namespace culmen::tools {
namespace {

constexpr auto kFirstDraw = std::chrono::milliseconds(200);  // short work shows no bar at all
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
  if (!lock) return;  // another thread is drawing: work goes before drawing
  const auto now = std::chrono::steady_clock::now();
  if (now < next_draw_) return;
  next_draw_ = now + kRedraw;
  drawn_ = true;
  if (fraction < 0) {
    fmt::print(stderr, "\r\033[K{}", phase);
  } else {
    const double share = std::min(fraction, 1.0);
    const std::string done(static_cast<std::size_t>(share * kWidth), '#');
    fmt::print(stderr, "\r\033[K{:<12} [{:<{}}] {:3.0f} %", phase, done, kWidth, 100 * share);
  }
  std::fflush(stderr);
}

void ProgressBar::wipe() {
  const std::lock_guard lock(mutex_);
  if (!drawn_) return;
  drawn_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace culmen::tools
