// IdlePool: what finished calls leave for the next ones.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace culmen::gpu {

template <typename T>
class IdlePool {
 public:
  // Null if there is none.
  std::unique_ptr<T> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<T> taken = std::move(idle_.back());
    idle_.pop_back();
    return taken;
  }
  // Not after an error: what a failed call has used must not be used again.
  void give_back(std::unique_ptr<T> idle) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(idle));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace culmen::gpu
