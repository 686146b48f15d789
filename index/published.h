// Published: the current version of an index. A search takes a reference once and holds it to its end; the writer
// publishes the next version. Neither waits for more than the copy of a pointer.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "index/snapshot.h"

namespace culmen {

// Compares identity: unlike addresses, it tells an object from a later one at the same address.
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
    lock.unlock();  // destroying `next`, the old version, may free gigabytes
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> current_;
};

}  // namespace culmen
