// Worker: a thread that runs tasks one after the other.
#pragma once

#include <atomic>
#include <chrono>
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
  // linger: how long the thread looks for a next task before it sleeps. Waking it takes many microseconds, and meanwhile
  // it keeps its core.
  explicit Worker(std::chrono::microseconds linger = {});
  ~Worker();  // runs what is queued first
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The future holds what the task throws.
  std::future<void> run(std::function<void()> task);
  // Whether it would begin a task at once.
  bool is_waiting() const { return is_waiting_.load(std::memory_order_relaxed); }

 private:
  void work();
  void look_for_a_task();

  const std::chrono::microseconds linger_;
  std::atomic<std::size_t> num_calls_ = 0;  // of run(), and of the destructor
  std::atomic<bool> is_waiting_ = false;
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
  // Looks whether all have ended until they have. For work of a few microseconds, which a thread that slept would miss.
  void spin() const;

 private:
  std::vector<std::future<void>> ends_;
};

}  // namespace culmen
