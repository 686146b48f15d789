#include <string>
#include <string_view>

#include "index/storage/label_codec.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {

// Allocates memory for a leaf's labels only after its frame was checked.
std::uint64_t take_labels(const LeafFrame& frame, std::uint64_t leaf, const std::byte* payload,
                          const FrameFileReader& file, Snapshot& s) {
  std::uint64_t bytes = 0;
  const auto allocate = [&](std::size_t text_bytes) {
    const std::span<std::byte> labels = s.arena->allocate_labels(leaf, text_bytes);
    bytes = labels.size();
    return labels;
  };
  const std::string_view fault = decode_labels({payload, frame.bytes}, s.arena->leaf(leaf).num_rows,
                                               s.arena->shape().leaf_rows, allocate);
  if (!fault.empty()) throw_damaged(file.path(), frame.offset + sizeof(FrameHeader), std::string(fault));
  return bytes;
}

void read_labels(const LeafFrames& frames, FrameFileReader& file, Snapshot& s) {
  read_leaf_frames(frames, file, [&](std::uint64_t leaf, std::span<const std::byte> payload) {
    take_labels(frames[leaf], leaf, payload.data(), file, s);
  });
}

}  // namespace culmen::storage
