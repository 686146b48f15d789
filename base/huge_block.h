// HugeBlock: one block of memory on huge pages for a few arrays whose sizes are about known. What does not fit is on the heap,
// and so is what an array takes when it outgrows its part, which is not used again.
#pragma once

#include <cstddef>
#include <functional>
#include <new>

#include "base/pages.h"
#include "culmen/array.h"

namespace culmen {

// One thread at a time.
class HugeBlock final : public ArrayMemory {
 public:
  explicit HugeBlock(std::size_t num_bytes) : block_(num_bytes) {}

  void* allocate(std::size_t num_bytes) override {
    constexpr std::size_t kAlignment = 64;
    const std::size_t first = (used_ + kAlignment - 1) / kAlignment * kAlignment;
    if (first > block_.size() || num_bytes > block_.size() - first) return ::operator new(num_bytes);
    used_ = first + num_bytes;
    return block_.data() + first;
  }
  void deallocate(void* array, std::size_t /*num_bytes*/) noexcept override {
    const auto* at = static_cast<const std::byte*>(array);
    const std::less<> before;
    if (before(at, block_.data()) || !before(at, block_.data() + block_.size())) ::operator delete(array);
  }

 private:
  PageBuffer<std::byte> block_;
  std::size_t used_ = 0;
};

}  // namespace culmen
