// The ids file: in which leaf the row of each id is, so that a row is found without reading the others.
//
// One entry of 64 bits for each row, in ascending order: the tag of its id, then the number of its leaf. Tags are hashes, so they are
// spread evenly, and the place of a tag is known to within a few frames before anything is read. They are seeded by the
// snapshot's uuid: nobody can choose ids in advance that all have one tag. Of an index of IdType::text the file has another
// order (index/storage/id_order_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "culmen/open.h"
#include "index/id_lookup.h"
#include "index/snapshot.h"
#include "index/storage/frame_file.h"
#include "index/storage/framed_entries.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

// Of the payload of one of these frames.
std::uint64_t most_id_bytes();
// Appends the payload of a frame with these entries to no bytes.
void encode_ids(std::span<const std::uint64_t> entries, std::vector<std::byte>& payload);
// Returns false if the payload is not that of so many entries.
bool decode_ids(std::span<const std::byte> payload, std::span<std::uint64_t> entries);

// Of a leaf of a snapshot in memory.
std::span<const std::int64_t> ids_of_leaf(const Snapshot& snapshot, std::uint64_t leaf);
// Of a set of `count` parts, in any order: two sets of the same sum are the same, unless somebody sought them.
std::uint64_t sum_over(std::uint64_t count, const std::function<std::uint64_t(std::uint64_t)>& sum_of);

void write_ids(const Snapshot& snapshot, const Uuid& uuid, FrameFileWriter& file);

// What the file of ids says, whichever order it has.
class FiledIds : public IdLookup {
 public:
  // Reads the rest. Throws FormatError unless the entries are those of the rows of `snapshot`, all of which is in memory.
  virtual void check_all(const Snapshot& snapshot) const = 0;
};

// Reads the file, or only its header.
std::shared_ptr<const FiledIds> open_ids(const Manifest& manifest, FrameFileReader file, Loading loading,
                                         bool keeps_frames = true);

class IdFile final : public FiledIds {
 public:
  IdFile(const Manifest& manifest, FrameFileReader file, Loading loading, bool keeps_frames);

  std::vector<std::uint32_t> leaves_with(std::int64_t id) const override;
  void check_all(const Snapshot& snapshot) const override;

 private:
  using Entries = FramedEntries<std::uint64_t>;

  std::uint64_t first_frame_with(std::uint32_t tag, Entries::Frame& mine) const;

  const std::uint64_t num_leaves_;
  const std::uint64_t seed_;
  const Entries entries_;
};

}  // namespace culmen::storage
