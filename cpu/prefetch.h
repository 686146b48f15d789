// Prefetches a piece of memory, all of its cache lines.
#pragma once

#include <cstddef>

namespace culmen {

inline void prefetch_bytes(const void* from, std::size_t num_bytes) {
  constexpr std::size_t kCacheLine = 64;
  const auto* first = static_cast<const std::byte*>(from);
  for (std::size_t b = 0; b < num_bytes; b += kCacheLine) __builtin_prefetch(first + b);
  __builtin_prefetch(first + num_bytes - 1);  // `from` may lie in the middle of a line
}

}  // namespace culmen
