// A progress line on the terminal; silent if stderr is not a terminal.
#pragma once

#include <chrono>
#include <mutex>
#include <string_view>

namespace culmen::tools {

class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();  // wipes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Any thread may call it. fraction: 0..1, below 0 if unknown.
  void show(std::string_view phase, double fraction);
  void wipe();

 private:
  bool active_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_draw_;
  bool drawn_ = false;
};

}  // namespace culmen::tools
