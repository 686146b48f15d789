#include "index/storage/leaf_frames.h"

#include <algorithm>
#include <utility>

namespace culmen::storage {
namespace {

std::span<const std::byte> payload_of(const Snapshot& s, FileKind kind, std::uint32_t leaf) {
  return kind == FileKind::labels ? std::as_const(*s.arena).labels(leaf) : s.leaf_fields(leaf).bytes();
}

}  // namespace

void LeafFrames::add(std::uint64_t payload_bytes) {
  payload_bytes_.push_back(payload_bytes);
  offsets_.push_back(offsets_.back() + aligned(sizeof(FrameHeader) + payload_bytes));
}

ExtentOf LeafFrames::extents() const {
  return [this](std::uint64_t leaf) { return FrameExtent{offsets_[leaf], payload_bytes_[leaf], 0}; };
}

LeafFrames leaf_frames(const Snapshot& s, FileKind kind) {
  LeafFrames frames;
  for (const std::uint32_t leaf : s.order().leaves) frames.add(payload_of(s, kind, leaf).size());
  return frames;
}

void write_leaf_frames(const Snapshot& s, FileKind kind, const LeafFrames& frames, FrameFileWriter& file) {
  const std::vector<std::uint32_t>& leaves = s.order().leaves;
  file.write(frames.extents(), [&](std::uint64_t number, std::byte* payload) {
    std::ranges::copy(payload_of(s, kind, leaves[number]), payload);
  });
}

void read_leaf_frames(const LeafFrames& frames, FrameFileReader& file,
                      const std::function<void(std::uint64_t, std::span<const std::byte>)>& use) {
  file.require_end(frames.end());
  file.read_file_header(frames.size());
  file.read(0, frames.size(), frames.extents(), [&](std::uint64_t leaf, const std::byte* payload) {
    use(leaf, {payload, frames[leaf].bytes});
  });
  file.check_digest();
}

}  // namespace culmen::storage
