// Threads for work that waits for a disk or takes long: writes, lookups, plans.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace culmen::serve {

class TaskPool {
 public:
  TaskPool(int num_threads, std::size_t max_waiting);
  ~TaskPool() { stop(); }
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  // Throws Overload if too many tasks wait. Tasks must not throw.
  void run(std::function<void()> task);
  // Runs what waits, then ends the threads.
  void stop();

 private:
  void work();

  const std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> waiting_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace culmen::serve
