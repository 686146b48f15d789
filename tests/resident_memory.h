// The memory that this process has in use, for tests of what stays behind.
#pragma once

#include <cstddef>
#include <fstream>

#include "tests/cases.h"

namespace culmen::test {

// False where there is no /proc, and under sanitizers, which keep memory of their own.
inline bool tells_resident_bytes() {
  return !kSanitized && std::ifstream("/proc/self/statm");
}

inline std::size_t resident_bytes() {
  std::size_t all_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages;
  return resident_pages * 4096;
}

// Of these, those that no file has.
inline std::size_t anonymous_bytes() {
  std::size_t all_pages = 0, resident_pages = 0, shared_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages >> shared_pages;
  return (resident_pages - shared_pages) * 4096;
}

}  // namespace culmen::test
