#include <string>
#include <string_view>

#include "index/storage/snapshot_files.h"
#include "index/storage/text_codec.h"

namespace culmen::storage {

// Allocates memory for a leaf's texts only after its frame was checked.
std::uint64_t take_leaf_texts(const LeafFrame& frame, std::uint64_t leaf, const std::byte* payload,
                              const FrameFileReader& file, Snapshot& s) {
  std::uint64_t bytes = 0;
  const auto allocate = [&](std::size_t num_bytes) {
    bytes = num_bytes;
    return s.arena->allocate_texts(leaf, num_bytes);
  };
  const std::string_view fault = decode_leaf_texts({payload, frame.bytes}, s.arena->leaf(leaf).num_rows,
                                                   s.leaf_fields(leaf), s.fields, allocate);
  if (!fault.empty()) throw_damaged(file.path(), frame.offset + sizeof(FrameHeader), std::string(fault));
  return bytes;
}

void read_leaf_texts(const LeafFrames& frames, FrameFileReader& file, Snapshot& s) {
  read_leaf_frames(frames, file, [&](std::uint64_t leaf, std::span<const std::byte> payload) {
    take_leaf_texts(frames[leaf], leaf, payload.data(), file, s);
  });
}

}  // namespace culmen::storage
