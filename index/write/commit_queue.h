// CommitQueue: group commit. Threads queue their batches; the first in the queue becomes the leader and commits all
// that wait, so the more threads write, the fewer syncs each of them pays for.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>

#include "culmen/write.h"

namespace culmen {

// A queued batch. It is on the stack of the thread that waits for it.
struct CommitRequest {
  const WriteBatch& batch;
  const WriteOptions& options;
  WriteResult result = {};
  std::exception_ptr error = nullptr;
  bool is_done = false;
};

class CommitQueue {
 public:
  // Gives each request its result or its error, and never throws.
  using Commit = std::function<void(std::span<CommitRequest* const> group)>;

  // Returns once the request is committed, by this thread or by another leader.
  void run(CommitRequest& request, const Commit& commit);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CommitRequest*> queue_;
  bool has_leader_ = false;
};

}  // namespace culmen
