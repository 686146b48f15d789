// VersionCache: something that is made from one version of an index, and kept until another version needs its own.
#pragma once

#include <memory>
#include <mutex>

#include "base/lock_isolated.h"
#include "index/published.h"
#include "index/snapshot.h"

namespace culmen {

template <typename T>
class VersionCache {
 public:
  // What get() would return without making it; null: it would make one.
  std::shared_ptr<const T> find(const std::shared_ptr<const Snapshot>& snapshot) {
    const std::lock_guard lock(mutex_);
    return is_same(made_from_, snapshot) ? value_ : nullptr;
  }
  // make() may contain parallel loops. Other threads wait for it. suits(value): whether one that is kept will do.
  std::shared_ptr<const T> get(const std::shared_ptr<const Snapshot>& snapshot, const auto& make,
                               const auto& suits) {
    return lock_isolated(mutex_, [&] {
      if (!is_same(made_from_, snapshot) || !suits(*value_)) {
        value_ = make();
        made_from_ = snapshot;
      }
      return value_;
    });
  }
  std::shared_ptr<const T> get(const std::shared_ptr<const Snapshot>& snapshot, const auto& make) {
    return get(snapshot, make, [](const T&) { return true; });
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    value_.reset();
    made_from_.reset();
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const T> value_;
  std::weak_ptr<const Snapshot> made_from_;  // not its number: after a refresh another index may have it
};

}  // namespace culmen
