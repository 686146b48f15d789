// Files with one frame of its own size for each leaf, in the order of the leaves: labels, fields, texts. A leaf's frame in the
// leaves file says where its own one is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "index/snapshot.h"
#include "index/storage/frame_file.h"

namespace culmen::storage {

// The frames of such a file. Without any: the index has no such file.
class LeafFrames {
 public:
  // The next leaf's.
  void add(std::uint64_t payload_bytes);

  std::uint64_t size() const { return payload_bytes_.size(); }
  // The next one, after all that there are.
  LeafFrame next(std::uint64_t payload_bytes) const { return {offsets_.back(), payload_bytes}; }
  LeafFrame operator[](std::uint64_t leaf) const {
    return payload_bytes_.empty() ? LeafFrame{} : LeafFrame{offsets_[leaf], payload_bytes_[leaf]};
  }
  std::uint64_t end() const { return offsets_.back(); }
  // This object must outlive the result.
  ExtentOf extents() const;

 private:
  std::vector<std::uint64_t> payload_bytes_;
  std::vector<std::uint64_t> offsets_ = {kFirstFrameOffset};  // [size + 1]
};

// kind: of kFilesByLeaf. Returns where the frames are.
LeafFrames write_leaf_frames(const Snapshot& snapshot, FileKind kind, FrameFileWriter& file);

// Reads the whole file. Many threads call use(leaf, payload).
void read_leaf_frames(const LeafFrames& frames, FrameFileReader& file,
                      const std::function<void(std::uint64_t, std::span<const std::byte>)>& use);

}  // namespace culmen::storage
