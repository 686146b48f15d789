#include "serve/task_pool.h"

#include <utility>

#include "serve/question_queue.h"

namespace culmen::serve {

TaskPool::TaskPool(int num_threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
  for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { work(); });
}

void TaskPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void TaskPool::run(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_) throw Overload("the server is stopping");
    if (waiting_.size() >= max_waiting_) throw Overload("too many requests wait; ask again later");
    waiting_.push_back(std::move(task));
  }
  arrived_.notify_one();
}

void TaskPool::work() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    task();
  }
}

}  // namespace culmen::serve
