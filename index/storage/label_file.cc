#include <algorithm>
#include <span>
#include <utility>

#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

ExtentOf label_extents(const std::vector<std::uint64_t>& offsets, std::span<const std::uint64_t> text_bytes,
                       std::uint64_t end_bytes) {
  return [&offsets, text_bytes, end_bytes](std::uint64_t leaf) {
    return FrameExtent{offsets[leaf], end_bytes + text_bytes[leaf], 0};
  };
}

std::vector<std::uint64_t> offsets_of(std::span<const std::uint64_t> text_bytes, std::uint64_t end_bytes) {
  std::vector<std::uint64_t> offsets = {kFirstFrameOffset};
  for (std::uint64_t bytes : text_bytes)
    offsets.push_back(offsets.back() + aligned(sizeof(FrameHeader) + end_bytes + bytes));
  return offsets;
}

std::vector<std::uint64_t> text_bytes_of(const Snapshot& s) {
  std::vector<std::uint64_t> bytes;
  for (std::uint32_t leaf : s.order().leaves)
    bytes.push_back(std::as_const(*s.arena).labels(leaf).size() - s.arena->shape().label_end_bytes());
  return bytes;
}

}  // namespace

bool label_ends_are_good(const std::uint32_t* ends, std::uint64_t leaf_rows, std::uint64_t text_bytes) {
  bool good = ends[leaf_rows - 1] == text_bytes;
  for (std::uint64_t r = 1; r < leaf_rows; ++r) good &= ends[r - 1] <= ends[r];
  return good;
}

std::vector<std::uint64_t> label_offsets(const Snapshot& s) {
  if (!s.has_labels) return {};
  return offsets_of(text_bytes_of(s), s.arena->shape().label_end_bytes());
}

void write_labels(const Snapshot& s, const std::vector<std::uint64_t>& offsets, FrameFileWriter& file) {
  const std::vector<std::uint64_t> text_bytes = text_bytes_of(s);
  const std::vector<std::uint32_t>& leaves = s.order().leaves;
  file.write(label_extents(offsets, text_bytes, s.arena->shape().label_end_bytes()),
             [&](std::uint64_t number, std::byte* payload) {
               const std::span<const std::byte> labels = std::as_const(*s.arena).labels(leaves[number]);
               std::copy(labels.begin(), labels.end(), payload);
             });
}

// Allocates memory for a leaf's labels only after its frame was checked.
void read_labels(const Manifest& manifest, const std::vector<std::uint64_t>& label_bytes,
                 FrameFileReader& file, Snapshot& s) {
  const std::uint64_t end_bytes = s.arena->shape().label_end_bytes();
  const std::vector<std::uint64_t> offsets = offsets_of(label_bytes, end_bytes);
  file.require_end(offsets.back());
  file.read_file_header(manifest.num_leaves);
  file.read(0, manifest.num_leaves, label_extents(offsets, label_bytes, end_bytes),
            [&](std::uint64_t leaf, const std::byte* payload) {
              if (!label_ends_are_good(reinterpret_cast<const std::uint32_t*>(payload),
                                       s.arena->shape().leaf_rows, label_bytes[leaf]))
                throw_damaged(file.path(), offsets[leaf] + sizeof(FrameHeader),
                              "the labels overlap or exceed their frame");
              std::copy_n(payload, end_bytes + label_bytes[leaf],
                          s.arena->allocate_labels(leaf, label_bytes[leaf]).data());
            });
  file.check_digest();
}

}  // namespace culmen::storage
