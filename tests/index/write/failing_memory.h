// Makes one allocation by operator new fail.
#pragma once

#include <atomic>
#include <cstdint>

namespace culmen::test {

// Number of allocations from now on before one fails; below 0: none fails.
inline std::atomic<std::int64_t> allocations_left = -1;

}  // namespace culmen::test
