// Makes one allocation by operator new fail.
#pragma once

#include <atomic>
#include <cstdint>

namespace culmen::test {

// The number of allocations from now on until one fails; below 0: none fails.
inline std::atomic<std::int64_t> allocations_left = -1;

}  // namespace culmen::test
