// lock_isolated(mutex, work): runs `work`, which may contain parallel loops, under a mutex.
//
// A thread that waits for the end of a parallel loop runs other tasks of its arena meanwhile: another query of a batch,
// or whatever the host program runs there. If it holds a lock and such a task needs the same one, the thread waits for
// itself forever. So a plain lock_guard is held only briefly: over no parallel loop, no callback, and no wait for
// another thread.
//
// Longer work under a lock goes through lock_isolated(). Inside, the thread only runs tasks of loops that began inside.
// Other threads that want the mutex block, and the owner does not need them.
//
// No std::call_once contains a parallel loop.
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
