#include "base/worker.h"

#include <algorithm>
#include <utility>

namespace culmen {

Worker::Worker(std::chrono::microseconds linger) : linger_(linger), thread_([this] { work(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ++num_calls_;
  changed_.notify_one();
  thread_.join();
}

std::future<void> Worker::run(std::function<void()> task) {
  std::packaged_task<void()> packaged(std::move(task));
  std::future<void> end = packaged.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(packaged));
  }
  ++num_calls_;
  changed_.notify_one();
  return end;
}

// Without the lock, which callers of run() want.
void Worker::look_for_a_task() {
  const std::size_t seen = num_calls_;
  {
    const std::lock_guard lock(mutex_);
    if (ends_ || !tasks_.empty()) return;
  }
  is_waiting_ = true;
  const auto end = std::chrono::steady_clock::now() + linger_;
  while (num_calls_.load(std::memory_order_acquire) == seen && std::chrono::steady_clock::now() < end) {
  }
  is_waiting_ = false;
}

void Worker::work() {
  for (;;) {
    if (linger_.count() > 0) look_for_a_task();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::packaged_task<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }
}

void Ends::spin() const {
  const auto has_ended = [](const std::future<void>& end) {
    return end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  while (!std::all_of(ends_.begin(), ends_.end(), has_ended)) {
  }
}

}  // namespace culmen
