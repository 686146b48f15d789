// Parallel work with as many threads as the caller asked for.
#pragma once

#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <map>

#include "culmen/error.h"

namespace culmen {

// Throws InvalidArgument below 0. Every public call that takes a number of threads asks, whether or not it
// comes to need them.
inline void check_num_threads(int num_threads) {
  if (num_threads < 0) throw InvalidArgument("num_threads must not be negative");
}

// How many threads a caller gets who asks for num_threads (0: all cores). More than cores are cut to the
// cores, since oneTBB would print a warning. Throws InvalidArgument below 0.
inline int threads_of(int num_threads) {
  check_num_threads(num_threads);
  const int all = tbb::info::default_concurrency();
  return num_threads == 0 ? all : std::min(num_threads, all);
}

// Runs `work` with at most `num_threads` threads (threads_of) and returns what it returns.
decltype(auto) with_threads(int num_threads, const auto& work) {
  const int wanted = threads_of(num_threads);
  // oneTBB does not free an arena that asked for workers which never came, and each later call walks past it.
  // Arenas are therefore kept: one for each number of threads that this thread has asked for.
  thread_local std::map<int, tbb::task_arena> arenas;
  return arenas.try_emplace(wanted, wanted).first->second.execute(work);
}

}  // namespace culmen
