#include <algorithm>

#include "index/storage/snapshot_files.h"

namespace culmen::storage {

bool label_ends_are_good(std::span<const std::byte> payload, std::uint64_t leaf_rows) {
  const std::uint64_t end_bytes = leaf_rows * sizeof(std::uint32_t);
  if (payload.size() < end_bytes) return false;
  const auto* ends = reinterpret_cast<const std::uint32_t*>(payload.data());
  bool good = ends[leaf_rows - 1] == payload.size() - end_bytes;
  for (std::uint64_t r = 1; r < leaf_rows; ++r) good &= ends[r - 1] <= ends[r];
  return good;
}

// Allocates memory for a leaf's labels only after its frame was checked.
void take_labels(const LeafFrame& frame, std::uint64_t leaf, const std::byte* payload,
                 const FrameFileReader& file, Snapshot& s) {
  const LeafShape& shape = s.arena->shape();
  const std::span<const std::byte> labels(payload, frame.bytes);
  if (!label_ends_are_good(labels, shape.leaf_rows))
    throw_damaged(file.path(), frame.offset + sizeof(FrameHeader),
                  "the labels overlap or exceed their frame");
  std::ranges::copy(labels, s.arena->allocate_labels(leaf, labels.size() - shape.label_end_bytes()).data());
}

void read_labels(const LeafFrames& frames, FrameFileReader& file, Snapshot& s) {
  read_leaf_frames(frames, file, [&](std::uint64_t leaf, std::span<const std::byte> payload) {
    take_labels(frames[leaf], leaf, payload.data(), file, s);
  });
}

}  // namespace culmen::storage
