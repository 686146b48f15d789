// LeafReader: reads leaf frames into a snapshot, and checks them: each by itself, then all together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/pages.h"
#include "index/order_key.h"
#include "index/snapshot.h"
#include "index/storage/frame_directory.h"
#include "index/storage/frame_file.h"
#include "index/storage/leaf_codec.h"
#include "index/storage/manifest.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {

class LeafReader {
 public:
  // The arguments outlive the reader. The snapshot has its partitioner.
  LeafReader(const Manifest& manifest, std::vector<std::uint32_t> leaves_of_partition, FrameFileReader& file,
             Snapshot& snapshot);

  // Call first: checks the length and the header of the file.
  void start();

  // The two ways to read them, into the snapshot's arena: all at once, or one by one and then the checks of all. Calls
  // of read_one for different leaves may be concurrent.
  FramesOfLeaves read_all();
  void read_one(std::uint64_t leaf);
  void will_need(std::uint64_t leaf) const { file_.will_need(directory_.extent(leaf)); }
  FramesOfLeaves check_all() const;
  // Leaves that will be read again before check_all.
  void drop(std::uint64_t first, std::uint64_t end);

  // The frame of a leaf that was read, in another file.
  LeafFrame frame_in(FileKind kind, std::uint64_t leaf) const;

  // The same for rows that are on the wrong side of a late split. Reads nothing, but needs leaves and fields.
  void check_late_splits() const;
  // Scale::minmax needs the exact range of each attribute. As above.
  void check_ranges() const;

  // Throws FormatError about a leaf's payload.
  [[noreturn]] void fail(std::uint64_t leaf, const std::string& what) const;

 private:
  // The sort key of a row within its partition.
  struct RowKey {
    OrderKey order;
    std::int64_t id;

    friend bool operator<(const RowKey& a, const RowKey& b) {
      return a.order != b.order ? a.order < b.order : a.id < b.id;
    }
  };

  std::size_t leaf_rows() const { return shape_.leaf_rows; }
  std::uint32_t partition_of(std::uint64_t leaf) const;
  void take(std::uint64_t leaf, std::span<const std::byte> payload);
  template <typename T>
  void take_zone_map(std::uint64_t leaf);
  std::int64_t checked_min_id(std::uint64_t leaf) const;
  template <typename T>
  void check_order(std::uint64_t leaf);
  void check_num_rows() const;
  void check_partitions() const;
  void check_leaves(std::uint64_t first, std::uint64_t end) const;
  LeafFrames frames_in(FileKind kind) const;

  const Manifest& manifest_;
  const std::vector<std::uint32_t> partitions_;  // in the tree's order
  std::vector<std::uint64_t> ends_;              // of each of them: the number of leaves up to there
  const LeafShape shape_;
  const LeafCodec codec_;
  FrameFileReader& file_;
  FrameDirectory directory_;
  Snapshot& snapshot_;
  PageBuffer<LeafRecord> records_;
  PageBuffer<RowKey> first_rows_, last_rows_;  // of each leaf
};

}  // namespace culmen::storage
