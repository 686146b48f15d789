// Parallel work with as many threads as the caller asked for.
#pragma once

#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <map>

#include "culmen/error.h"

namespace culmen {

// Runs `work` with at most `num_threads` threads (0: all cores) and returns what it returns. More threads
// than cores are cut to the cores, since oneTBB would print a warning.
decltype(auto) with_threads(int num_threads, const auto& work) {
  if (num_threads < 0) throw InvalidArgument("num_threads must not be negative");
  const int num_cores = tbb::info::default_concurrency();
  const int wanted = num_threads == 0 ? num_cores : std::min(num_threads, num_cores);
  // oneTBB does not free an arena that asked for workers which never came, and each later call walks past it.
  // Arenas are therefore kept: one for each number of threads that this thread has asked for.
  thread_local std::map<int, tbb::task_arena> arenas;
  return arenas.try_emplace(wanted, wanted).first->second.execute(work);
}

}  // namespace culmen
