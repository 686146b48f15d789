// Files whose frames have sizes of their own, to be changed and written again with good checksums; leaves as rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "index/storage/frame_directory.h"
#include "index/storage/leaf_codec.h"
#include "index/storage/manifest.h"
#include "tests/index/storage/memory_file_system.h"

namespace culmen::storage {

// The first byte of each frame of a file, the file's header among them, then its end.
inline std::vector<std::size_t> frame_starts(const Bytes& file) {
  std::vector<std::size_t> starts = {0};
  while (starts.back() < file.size()) {
    FrameHeader header;
    std::memcpy(&header, file.data() + starts.back(), sizeof header);
    starts.push_back(starts.back() + aligned(sizeof header + header.payload_bytes));
  }
  return starts;
}

// Makes the checksums of these frames good. Returns what a manifest then says.
inline FileEntry with_good_checksums(const std::vector<std::size_t>& starts, Bytes& file) {
  std::vector<std::uint64_t> checksums;
  for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
    const auto covered =
        std::span<const std::byte>(file).subspan(starts[b] + 8, starts[b + 1] - starts[b] - 8);
    checksums.push_back(checksum_of(covered));
    std::memcpy(file.data() + starts[b], &checksums.back(), sizeof checksums.back());
  }
  return {file.size(), digest_of(std::as_bytes(std::span(checksums)))};
}

// A file of such frames, and what the manifest says about it.
inline Bytes sized_file(FileKind kind, Manifest& manifest, std::uint64_t num_frames,
                        const MakePayload& make) {
  MemoryFileSystem system;
  system.put("made", {});
  const auto directory = system.open_directory("made");
  FrameFileWriter writer(*directory, kind, manifest.snapshot,
                         DirectoryFrames(num_frames).num_frames_with_directory());
  constexpr std::uint64_t kOneAtATime = std::uint64_t{1} << 30;
  write_sized_frames(num_frames, kOneAtATime, make, writer);
  manifest.file(kind) = writer.finish();
  return system.files("made").at(file_name(kind, manifest.snapshot.number));
}

struct LeafRows {
  LeafRecord record;
  std::vector<std::byte> values;  // [num_attributes][leaf_rows]
  std::vector<std::int64_t> ids;  // [leaf_rows]
};

inline LeafCodec codec_of(const Manifest& manifest) {
  return {manifest.leaf_shape(), manifest.has_file(FileKind::fields)};
}

inline std::vector<LeafRows> read_leaf_rows(const Manifest& manifest, const Bytes& file) {
  const std::vector<std::size_t> starts = frame_starts(file);
  std::vector<LeafRows> leaves(manifest.num_leaves);
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    FrameHeader header;
    std::memcpy(&header, file.data() + starts[leaf + 1], sizeof header);
    LeafRows& rows = leaves[leaf];
    rows.values.resize(manifest.leaf_shape().leaf_bytes());
    rows.ids.resize(manifest.leaf_shape().leaf_rows);
    const std::span<const std::byte> payload(file.data() + starts[leaf + 1] + sizeof header,
                                             header.payload_bytes);
    if (!codec_of(manifest).decode(payload, rows.record, rows.values.data(), rows.ids.data()).empty())
      throw std::logic_error("a leaf that cannot be decoded");
  }
  return leaves;
}

inline Bytes write_leaf_rows(Manifest& manifest, const std::vector<LeafRows>& leaves) {
  return sized_file(FileKind::leaves, manifest, leaves.size(),
                    [&](std::uint64_t leaf, std::vector<std::byte>& payload) {
                      const LeafRows& rows = leaves[leaf];
                      codec_of(manifest).encode(rows.record, rows.values.data(), rows.ids.data(), payload);
                    });
}

}  // namespace culmen::storage
