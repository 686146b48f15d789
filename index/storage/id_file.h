// The ids file: in which leaf the row of each id is, so that a row is found without reading the others.
//
// One entry of 64 bits for each row, in ascending order: the tag of its id, then the number of its leaf. Tags are hashes, so they are
// spread evenly, and the place of a tag is known to within a few frames before anything is read. They are seeded by the
// snapshot's uuid: nobody can choose ids in advance that all have one tag.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/pages.h"
#include "culmen/open.h"
#include "index/id_lookup.h"
#include "index/slot_source.h"
#include "index/snapshot.h"
#include "index/storage/frame_directory.h"
#include "index/storage/frame_file.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

inline constexpr std::uint64_t kIdsPerFrame = 1024;

// Of an index of so many rows; without those of the file's directory.
constexpr std::uint64_t num_id_frames(std::uint64_t num_rows) {
  return (num_rows + kIdsPerFrame - 1) / kIdsPerFrame;
}
// Of the payload of one of these frames.
std::uint64_t most_id_bytes();
// Appends the payload of a frame with these entries to no bytes.
void encode_ids(std::span<const std::uint64_t> entries, std::vector<std::byte>& payload);
// Returns false if the payload is not that of so many entries.
bool decode_ids(std::span<const std::byte> payload, std::span<std::uint64_t> entries);

void write_ids(const Snapshot& snapshot, const Uuid& uuid, FrameFileWriter& file);

// Reads a frame at most once: all at first, or each when a look-up needs it. Or whenever one does, and keeps none.
class IdFile final : public IdLookup {
 public:
  // Reads the file, or only its header.
  IdFile(const Manifest& manifest, FrameFileReader file, Loading loading, bool keeps_frames = true);

  std::vector<std::uint32_t> leaves_with(std::int64_t id) const override;

  // Reads the rest. Throws FormatError unless the entries are those of the rows of `snapshot`, all of which is in memory.
  void check_all(const Snapshot& snapshot) const;

 private:
  // For frames that are not kept.
  using Frame = std::array<std::uint64_t, kIdsPerFrame>;

  std::span<const std::uint64_t> frame(std::uint64_t number) const;
  // Valid until `mine` is used again.
  std::span<const std::uint64_t> frame(std::uint64_t number, Frame& mine) const;
  void read_frame(std::uint64_t number, std::span<std::uint64_t> entries) const;
  std::uint64_t num_entries(std::uint64_t frame) const;
  std::span<std::uint64_t> kept(std::uint64_t number) const;
  void take(std::uint64_t number, std::span<const std::byte> payload, std::span<std::uint64_t> entries) const;
  std::uint64_t first_frame_with(std::uint32_t tag, Frame& mine) const;

  const std::uint64_t num_rows_;
  const std::uint64_t num_frames_;
  const std::uint64_t num_leaves_;
  const std::uint64_t seed_;
  const bool keeps_frames_;
  mutable FrameFileReader file_;
  FrameDirectory directory_;
  mutable PageBuffer<std::uint64_t> entries_;  // zero where no frame was read
  mutable std::unique_ptr<SlotsRead> read_;    // frames
};

}  // namespace culmen::storage
