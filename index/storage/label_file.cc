#include <algorithm>
#include <cstring>

#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

// Memory for labels is asked for in steps of about this size, each after the one before it was read and found
// good.
constexpr std::uint64_t kWaveBytes = std::uint64_t{256} << 20;

PlaceOf label_places(const std::vector<std::uint64_t>& offsets, const LabelStore& labels,
                     std::uint64_t row_end_bytes) {
  return [&offsets, &labels, row_end_bytes](std::uint64_t leaf) {
    return BlockPlace{offsets[leaf], row_end_bytes + labels.leaf_start[leaf + 1] - labels.leaf_start[leaf],
                      0};
  };
}

std::uint64_t row_end_bytes(const Snapshot& s) {
  return static_cast<std::uint64_t>(s.block_rows) * sizeof(std::uint32_t);
}

// Labels end one behind the other, the last of them where the text does.
bool ends_are_good(const std::uint32_t* ends, std::uint64_t slots, std::uint64_t text_bytes) {
  bool good = ends[slots - 1] == text_bytes;
  for (std::uint64_t r = 1; r < slots; ++r) good &= ends[r - 1] <= ends[r];
  return good;
}

}  // namespace

std::vector<std::uint64_t> label_offsets(const Snapshot& s) {
  std::vector<std::uint64_t> offsets;
  if (!s.has_labels) return offsets;
  offsets.push_back(kFirstBlockOffset);
  for (std::size_t leaf = 0; leaf + 1 < s.labels.leaf_start.size(); ++leaf)
    offsets.push_back(offsets.back() + aligned(sizeof(BlockHeader) + row_end_bytes(s) +
                                               s.labels.leaf_start[leaf + 1] - s.labels.leaf_start[leaf]));
  return offsets;
}

void write_labels(const Snapshot& s, const std::vector<std::uint64_t>& offsets, BlockFileWriter& file) {
  file.write(label_places(offsets, s.labels, row_end_bytes(s)), [&](std::uint64_t leaf, std::byte* payload) {
    const std::uint64_t start = s.labels.leaf_start[leaf];
    std::memcpy(payload, s.labels.row_end.data() + leaf * static_cast<std::uint64_t>(s.block_rows),
                row_end_bytes(s));
    std::copy_n(reinterpret_cast<const std::byte*>(s.labels.bytes.data()) + start,
                s.labels.leaf_start[leaf + 1] - start, payload + row_end_bytes(s));
  });
}

void read_labels(const Manifest& manifest, BlockFileReader& file, Snapshot& s) {
  LabelStore& labels = s.labels;
  const std::vector<std::uint64_t> offsets = label_offsets(s);
  const PlaceOf places = label_places(offsets, labels, row_end_bytes(s));
  file.require_end(offsets.back());
  file.read_file_header(manifest.num_leaves);
  for (std::uint64_t first = 0, last = 0; first < manifest.num_leaves; first = last) {
    while (last < manifest.num_leaves && (last == first || offsets[last + 1] - offsets[first] <= kWaveBytes))
      ++last;
    labels.bytes.resize(labels.leaf_start[last]);
    labels.row_end.resize(last * manifest.block_rows);
    file.read(first, last, places, [&](std::uint64_t leaf, const std::byte* payload) {
      const std::uint64_t text_bytes = labels.leaf_start[leaf + 1] - labels.leaf_start[leaf];
      std::uint32_t* ends = labels.row_end.data() + leaf * manifest.block_rows;
      std::memcpy(ends, payload, row_end_bytes(s));
      if (!ends_are_good(ends, manifest.block_rows, text_bytes))
        throw_damaged(file.path(), offsets[leaf] + sizeof(BlockHeader),
                      "labels that overlap or leave their block");
      std::copy_n(reinterpret_cast<const char*>(payload) + row_end_bytes(s), text_bytes,
                  labels.bytes.data() + labels.leaf_start[leaf]);
    });
  }
  file.check_digest();
}

}  // namespace culmen::storage
