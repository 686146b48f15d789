// Worker: a thread that runs tasks one after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace culmen::gpu {

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

}  // namespace culmen::gpu
