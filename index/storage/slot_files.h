// SlotFiles: the leaves, their labels, fields and texts, and the nodes of a snapshot whose files are read slot by slot, when they are touched.
//
// What is checked of a slot that is read: its checksum, that it is the frame of this snapshot and of this position, and all
// that is checked of a frame by itself when a snapshot is read as a whole, so that engines stay within arrays, terminate, and keep scores
// finite. What only all slots together show is checked by require_all(): the digests of the files, the order of rows from
// leaf to leaf, links, ranges, and bounds against what is below them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "index/slot_source.h"
#include "index/snapshot.h"
#include "index/storage/frame_files.h"
#include "index/storage/id_file.h"
#include "index/storage/leaf_reader.h"
#include "index/storage/manifest.h"
#include "index/storage/node_reader.h"

namespace culmen::storage {

class SlotFiles final : public SlotSource {
 public:
  // Reads the headers of the files. `metadata` has its partitioner and its dictionaries.
  SlotFiles(const Manifest& manifest, FrameFiles files, std::shared_ptr<const FiledIds> ids,
            std::vector<std::uint32_t> leaves_of_partition, const IndexMetadata& metadata);

  // The tree whose slots are read, before the first is. Its arena owns this source, which does not own the arena.
  void attach(const TreeRoot& tree);

 private:
  std::uint64_t read_leaf(std::size_t leaf, bool is_beside) override;
  std::uint64_t read_node(std::size_t node, bool is_beside) override;
  void will_need(SlotKind kind, std::size_t slot) override {
    kind == SlotKind::leaf ? leaves_.will_need(slot) : nodes_.will_need(slot);
  }
  std::uint64_t read_labels(std::size_t leaf) override;
  std::uint64_t read_fields(std::size_t leaf) override;
  std::uint64_t read_texts(std::size_t leaf) override;
  LeafFrame checked_frame(FileKind kind, std::uint64_t leaf);
  // Calls take(frame, payload, file), which returns the bytes of memory that the frame's contents take.
  template <typename Take>
  std::uint64_t read_by_leaf(FileKind kind, std::size_t leaf, const Take& take);
  void drop_leaves(std::size_t first, std::size_t end) override { leaves_.drop(first, end); }
  void read_rest() override;
  void read_every_slot();

  const Manifest manifest_;
  const std::vector<std::uint32_t> dictionary_sizes_;
  FrameFiles files_;  // all but that of ids
  const std::shared_ptr<const FiledIds> ids_;
  Snapshot snapshot_;
  LeafReader leaves_;
  NodeReader nodes_;
};

}  // namespace culmen::storage
