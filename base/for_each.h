// for_each(count, f): calls f(0) .. f(count - 1), on several threads if that pays.
#pragma once

#include <tbb/parallel_for.h>

#include <cstddef>

#include "base/floating_point_scope.h"

namespace culmen {

// f(i) takes some microseconds and works on its own leaf or node.
template <typename F>
void for_each(std::size_t count, F&& f) {
  constexpr std::size_t kWorthThreads = 16;
  if (count < kWorthThreads) {
    const FloatingPointScope floating_point;
    for (std::size_t i = 0; i < count; ++i) f(i);
    return;
  }
  tbb::parallel_for(std::size_t{0}, count, [&f](std::size_t i) {
    const FloatingPointScope floating_point;
    f(i);
  });
}

}  // namespace culmen
