// Worker: a thread that runs tasks one after the other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace culmen {

class Worker {
 public:
  Worker();
  ~Worker();  // runs what is queued first
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The future holds what the task throws.
  std::future<void> run(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool ends_ = false;
  std::thread thread_;
};

// Waits for work that refers to the caller's variables.
class Ends {
 public:
  explicit Ends(std::size_t most) { ends_.reserve(most); }
  ~Ends() {
    for (const std::future<void>& end : ends_) end.wait();
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  void add(std::future<void> end) { ends_.push_back(std::move(end)); }

 private:
  std::vector<std::future<void>> ends_;
};

}  // namespace culmen
