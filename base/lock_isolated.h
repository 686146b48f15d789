// lock_isolated(mutex, work): runs `work` while no other thread runs anything under the same mutex.
//
// The rule for locks and parallel loops. A thread that waits for the end of a parallel loop takes up other
// tasks of its arena meanwhile: another query of a batch, or whatever a host program runs there. If it holds
// a lock, and such a task comes to want that lock, the thread waits for itself, for ever. So
//
// a plain lock_guard is held for moments: over no parallel loop, no callback, no waiting for another thread.
//
// What takes longer goes through lock_isolated(): inside of it a thread takes up no tasks but those of loops
// that were begun inside. Others who want the mutex block their threads, and the owner needs none of them.
//
// A std::call_once whose function takes longer would be a third way; none has a parallel loop in it.
#pragma once

#include <tbb/task_arena.h>

#include <mutex>
#include <utility>

namespace culmen {

template <typename Work>
decltype(auto) lock_isolated(std::mutex& mutex, Work&& work) {
  const std::lock_guard lock(mutex);
  return tbb::this_task_arena::isolate(std::forward<Work>(work));
}

}  // namespace culmen
