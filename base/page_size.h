// The pages in which the system gives and takes memory. Where pages are larger, these are parts of one.
#pragma once

#include <cstddef>

namespace culmen {

inline constexpr std::size_t kPageBytes = 4096;

constexpr std::size_t whole_pages(std::size_t num_bytes) {
  return (num_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace culmen
