// A line on the terminal that shows how far long work is; silent when stderr is no terminal.
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

  // From any thread. fraction: 0..1, below 0 when unknown.
  void show(std::string_view phase, double fraction);
  void wipe();

 private:
  bool active_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_draw_;
  bool drawn_ = false;
};

}  // namespace culmen::tools
