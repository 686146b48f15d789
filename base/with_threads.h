// Runs parallel work with the number of threads that the caller asked for.
#pragma once

#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <map>

#include "culmen/error.h"

namespace culmen {

// Throws InvalidArgument if num_threads is negative. Every public call with a number of threads checks it, even if it
// then needs no threads.
inline void check_num_threads(int num_threads) {
  if (num_threads < 0) throw InvalidArgument("num_threads must not be negative");
}

// The number of threads to use: num_threads, or all cores for 0. Never more than cores, because oneTBB would print a
// warning. Throws InvalidArgument if num_threads is negative.
inline int threads_of(int num_threads) {
  check_num_threads(num_threads);
  const int all = tbb::info::default_concurrency();
  return num_threads == 0 ? all : std::min(num_threads, all);
}

// Runs `work` with threads_of(num_threads) threads at most, and returns its result.
decltype(auto) with_threads(int num_threads, const auto& work) {
  const int wanted = threads_of(num_threads);
  // oneTBB does not free an arena whose requested workers never arrived, and each later call walks past it. So this
  // thread keeps its arenas: one per number of threads that it has asked for.
  thread_local std::map<int, tbb::task_arena> arenas;
  return arenas.try_emplace(wanted, wanted).first->second.execute(work);
}

}  // namespace culmen
