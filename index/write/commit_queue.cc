#include "index/write/commit_queue.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace culmen {

void CommitQueue::run(CommitRequest& request, const Commit& commit) {
  constexpr std::size_t kMaxGroup = 256;
  std::unique_lock lock(mutex_);
  queue_.push_back(&request);
  while (true) {
    changed_.wait(lock, [&] { return request.is_done || !has_leader_; });
    if (request.is_done) return;
    has_leader_ = true;
    // Allocates nothing: a leader that threw bad_alloc would leave the others waiting forever.
    std::array<CommitRequest*, kMaxGroup> room{};
    const std::span group(room.data(), std::min(queue_.size(), kMaxGroup));
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(group.size());
    std::copy(queue_.begin(), end, group.begin());
    queue_.erase(queue_.begin(), end);
    lock.unlock();
    commit(group);
    lock.lock();
    for (CommitRequest* done : group) done->is_done = true;
    has_leader_ = false;
    changed_.notify_all();
  }
}

}  // namespace culmen
