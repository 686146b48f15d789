#include "gpu/mirror/leaf_chunks.h"

#include <algorithm>
#include <utility>

namespace culmen::gpu {
namespace {

constexpr std::size_t kSmallestChunk = 1 << 20;
// Chunks for changes have room for so much of what is in use.
constexpr std::size_t kPartOfChunk = 8;
// Unused memory that is not worth a new start.
constexpr std::size_t kTolerated = 8 << 20;

}  // namespace

std::byte* LeafChunks::take(std::size_t num_bytes) {
  if (chunks_.empty() || chunks_.back().size() - used_of_last_ < num_bytes) {
    const std::size_t wanted = chunks_.empty()
                                   ? std::max(num_bytes, first_)
                                   : std::max({num_bytes, in_use_ / kPartOfChunk, kSmallestChunk});
    chunks_.emplace_back(wanted, memory_);
    in_chunks_ += wanted;
    used_of_last_ = 0;
  }
  std::byte* taken = chunks_.back().data() + used_of_last_;
  used_of_last_ += num_bytes;
  return taken;
}

void LeafChunks::count(std::uint32_t slot, std::uint32_t num_bytes) {
  if (slot >= bytes_by_slot_.size()) bytes_by_slot_.resize(std::size_t{slot} + 1 + slot / kPartOfChunk);
  in_use_ += num_bytes;
  in_use_ -= std::exchange(bytes_by_slot_[slot], num_bytes);
}

bool LeafChunks::are_mostly_unused() const {
  return in_chunks_ > 2 * in_use_ + kTolerated;
}

}  // namespace culmen::gpu
