#include "base/byte_blocks.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace culmen {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{16} << 20;
// Sizes are whole multiples, so that a block is likely to fit where another was freed.
constexpr std::size_t kUnit = 128;
constexpr std::size_t kHeader = alignof(std::max_align_t);  // before each block in a file: its size

std::size_t& size_of(std::byte* block) {
  return *reinterpret_cast<std::size_t*>(block - kHeader);
}

}  // namespace

std::byte* ByteBlocks::allocate(std::size_t num_bytes) {
  std::byte* const block = allocate_unset(num_bytes);
  std::fill_n(block, num_bytes, std::byte{0});
  return block;
}

std::byte* ByteBlocks::allocate_unset(std::size_t num_bytes) {
  return files_ == nullptr ? new std::byte[num_bytes] : allocate_in_file(num_bytes);
}

std::byte* ByteBlocks::allocate_in_file(std::size_t num_bytes) {
  const std::size_t size = (kHeader + num_bytes + kUnit - 1) / kUnit * kUnit;
  const std::lock_guard lock(mutex_);
  if (const auto found = free_.find(size); found != free_.end() && !found->second.empty()) {
    std::byte* const block = found->second.back();
    found->second.pop_back();
    return block;
  }
  if (chunks_.empty() || used_ + size > chunks_.back().size()) {
    const std::size_t chunk_bytes = std::max(kChunkBytes, size);
    chunks_.emplace_back(chunk_bytes, chunk_bytes, PageSize::small, files_);
    used_ = 0;
  }
  std::byte* const block = chunks_.back().data() + used_ + kHeader;
  used_ += size;
  size_of(block) = size;
  return block;
}

void ByteBlocks::free(std::byte* block) noexcept {
  if (files_ == nullptr) {
    delete[] block;
  } else if (block != nullptr) {
    const std::lock_guard lock(mutex_);
    try {
      free_[size_of(block)].push_back(block);
    } catch (const std::bad_alloc&) {
      // Not used again.
    }
  }
}

}  // namespace culmen
