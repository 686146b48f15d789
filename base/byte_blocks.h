// Blocks of bytes that are allocated and freed one by one: each on the heap, or many in one temporary file.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/pages.h"

namespace culmen {

// Many threads may call it.
class ByteBlocks {
 public:
  // files: null for the heap.
  explicit ByteBlocks(std::shared_ptr<TemporaryFiles> files) : files_(std::move(files)) {}
  ~ByteBlocks() = default;  // frees only blocks in files
  ByteBlocks(const ByteBlocks&) = delete;
  ByteBlocks& operator=(const ByteBlocks&) = delete;

  // Zeroed, and aligned for any number. Throws as TemporaryFiles.
  std::byte* allocate(std::size_t num_bytes);
  // Not zeroed.
  std::byte* allocate_unset(std::size_t num_bytes);
  void free(std::byte* block) noexcept;  // null: nothing to do

 private:
  std::byte* allocate_in_file(std::size_t num_bytes);

  const std::shared_ptr<TemporaryFiles> files_;
  std::mutex mutex_;  // guards the following
  std::vector<PageBuffer<std::byte>> chunks_;
  std::size_t used_ = 0;                                           // bytes of the last chunk
  std::unordered_map<std::size_t, std::vector<std::byte*>> free_;  // by their size
};

}  // namespace culmen
