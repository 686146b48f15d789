// Runs a reader's parallel work with the number of threads that the caller asked for.
#pragma once

#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <string>

#include "culmen/error.h"

namespace culmen::io {

void in_arena(int num_threads, const auto& work) {
  if (num_threads < 0) {
    throw InvalidArgument("expected a number of threads of at least 0, found " + std::to_string(num_threads));
  }
  // Asked for more threads than there are cores, oneTBB would print a warning.
  const int num_cores = tbb::info::default_concurrency();
  tbb::task_arena arena(num_threads == 0 ? num_cores : std::min(num_threads, num_cores));
  arena.execute(work);
}

}  // namespace culmen::io
