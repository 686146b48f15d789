// Published: the version of an index that searches see. A search takes it once and keeps it to its end; the
// writer puts the next one in its place. Neither waits for more than the copy of a pointer.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "index/snapshot.h"

namespace culmen {

// The same object, not another that has come to lie at its address.
template <typename T>
bool is_same(const std::weak_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

class Published {
 public:
  explicit Published(std::shared_ptr<const Snapshot> first) : current_(std::move(first)) {}

  std::shared_ptr<const Snapshot> get() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  void set(std::shared_ptr<const Snapshot> next) {
    std::unique_lock lock(mutex_);
    current_.swap(next);
    lock.unlock();  // `next`, the old version, may go now, and with it gigabytes
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> current_;
};

}  // namespace culmen
