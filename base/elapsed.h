// Time since a point of the steady clock.
#pragma once

#include <chrono>

namespace culmen {

inline double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace culmen
