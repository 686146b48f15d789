#include "index/storage/leaf_frames.h"

#include <utility>

#include "index/storage/field_codec.h"
#include "index/storage/frame_directory.h"
#include "index/storage/label_codec.h"
#include "index/storage/text_codec.h"

namespace culmen::storage {
namespace {

std::span<const std::byte> labels_of(const Snapshot& s, std::uint32_t leaf) {
  return std::as_const(*s.arena).labels(leaf);
}

std::uint64_t bytes_in_memory(const Snapshot& s, FileKind kind, std::uint32_t leaf) {
  if (kind == FileKind::labels) return labels_of(s, leaf).size();
  return (kind == FileKind::fields ? s.leaf_fields(leaf).bytes() : s.leaf_texts(leaf).bytes()).size();
}

void make_payload(const Snapshot& s, FileKind kind, std::uint32_t leaf, std::vector<std::byte>& payload) {
  if (kind == FileKind::labels) {
    encode_labels(labels_of(s, leaf), s.leaf(leaf).num_rows, payload);
  } else if (kind == FileKind::texts) {
    encode_leaf_texts(s.leaf_texts(leaf), s.fields, payload);
  } else {
    encode_fields(s.leaf_fields(leaf), s.fields, payload);
  }
}

}  // namespace

void LeafFrames::add(std::uint64_t payload_bytes) {
  payload_bytes_.push_back(payload_bytes);
  offsets_.push_back(offsets_.back() + aligned(sizeof(FrameHeader) + payload_bytes));
}

ExtentOf LeafFrames::extents() const {
  return [this](std::uint64_t leaf) { return FrameExtent{offsets_[leaf], payload_bytes_[leaf], 0}; };
}

LeafFrames write_leaf_frames(const Snapshot& s, FileKind kind, FrameFileWriter& file) {
  const std::vector<std::uint32_t>& leaves = s.order().leaves;
  const std::vector<FrameExtent> extents = append_sized_frames(
      leaves.size(), [&](std::uint64_t number) { return bytes_in_memory(s, kind, leaves[number]); },
      [&](std::uint64_t number, std::vector<std::byte>& payload) {
        make_payload(s, kind, leaves[number], payload);
      },
      file);
  LeafFrames frames;
  for (const FrameExtent& extent : extents) frames.add(extent.payload_bytes);
  return frames;
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
