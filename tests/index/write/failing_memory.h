// Lets one allocation by operator new fail.
#pragma once

#include <atomic>
#include <cstdint>

namespace culmen::test {

// The allocations from now on until one fails; below 0: none does.
inline std::atomic<std::int64_t> allocations_left = -1;

}  // namespace culmen::test
