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
// Nor does a loop that fails outside reach those inside: oneTBB cancels loops that are nested in it, which then return
// before their end and throw nothing, and what is made under a lock is kept for others.
//
// No std::call_once contains a parallel loop.
#pragma once

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace culmen {

// Runs `work`, whose parallel loops are cancelled by what they throw alone.
template <typename Work>
auto uncancelled(Work& work) {
  using Result = std::invoke_result_t<Work&>;
  tbb::task_group_context own(tbb::task_group_context::isolated, tbb::task_group_context::fp_settings);
  tbb::task_group group(own);
  if constexpr (std::is_void_v<Result>) {
    group.run_and_wait([&] { work(); });
  } else {
    std::optional<Result> result;
    group.run_and_wait([&] { result.emplace(work()); });
    return *std::move(result);
  }
}

template <typename Work>
auto lock_isolated(std::mutex& mutex, Work&& work) {
  const std::lock_guard lock(mutex);
  return tbb::this_task_arena::isolate([&] { return uncancelled(work); });
}

}  // namespace culmen
