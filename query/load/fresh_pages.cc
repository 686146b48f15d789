#include "query/load/fresh_pages.h"

#include <algorithm>

namespace culmen::gpu {
namespace {

constexpr std::size_t kPage = 4096;
// Bytes that one task writes to: some of the largest pages that systems use unasked.
constexpr std::size_t kGrain = 8 << 20;

void write_to_pages(std::span<std::byte> memory) {
  for (std::size_t i = 0; i < memory.size(); i += kPage) {
    volatile std::byte& first = memory[i];
    first = std::byte{0};
  }
}

}  // namespace

void FreshPages::start(std::span<std::byte> memory) {
  for (std::size_t i = 0; i < memory.size(); i += kGrain) {
    const std::span<std::byte> part = memory.subspan(i, std::min(kGrain, memory.size() - i));
    group_.run([part] { write_to_pages(part); });
  }
}

}  // namespace culmen::gpu
