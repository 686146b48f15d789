// SpanLoad: builds the leaves of a span of partitions on a device, and downloads them into a snapshot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gpu/build/bounds.h"
#include "gpu/build/downloader.h"
#include "gpu/build/fresh_pages.h"
#include "gpu/build/leaves.h"
#include "gpu/build/rows.h"
#include "gpu/cuda/buffer.h"
#include "gpu/mirror/slot_arrays.h"
#include "index/snapshot.h"

namespace culmen::gpu {

class SpanLoad {
 public:
  using Report = std::function<void(std::string_view phase, double fraction)>;

  // Allocates the snapshot's tree. first_rows: [num_partitions + 1] where each partition begins among all rows in key
  // order. The snapshot, the labels and `pages` outlive this. Throws OutOfDeviceMemory or CudaError.
  SpanLoad(Snapshot& snapshot, LabelsView labels, std::span<const std::uint64_t> first_rows,
           FreshPages& pages, Report report, cudaStream_t stream);

  // Before a load of one span of all partitions: allocates memory for all slots, in which the leaves are kept. Null
  // if there is no room.
  std::shared_ptr<SlotArrays> make_arrays();

  // For one span after the other, from the first partition to the last; waits. ids_ascend: in the order of the rows.
  void load(PartitionSpan span, const Rows& rows, bool ids_ascend);

 private:
  struct LeafBuffers;
  // A part of the leaves, or of the nodes above them, and its destination in the snapshot.
  struct Piece {
    const std::byte* from;  // on the device
    std::span<std::byte> to;
  };

  PartitionsRef partitions_ref(PartitionSpan span) const;
  LeafTarget target_of(PartitionSpan span) const;
  template <typename T>
  void make_leaves(const LeafTarget& leaves, const PartitionsRef& partitions, const Rows& rows,
                   const std::uint32_t* order, std::uint32_t* starts);
  std::array<Piece, 5> pieces_of(const LeafTarget& leaves) const;
  void keep_unfinished_node(const LeafTarget& leaves);
  void copy_labels(const LeafTarget& leaves, const Rows& rows, const std::uint32_t* order,
                   const std::uint32_t* starts);

  Snapshot& snapshot_;
  LabelsView labels_;
  FreshPages& pages_;
  Report report_;
  cudaStream_t stream_;
  std::vector<std::uint64_t> first_rows_;
  std::vector<PartitionRange> partitions_;
  cuda::Buffer<std::uint64_t> d_first_rows_;
  cuda::Buffer<PartitionRange> d_partitions_;
  cuda::Buffer<BoundUnit> d_units_;
  DeviceBounds bounds_;
  Downloader downloader_;
  std::shared_ptr<SlotArrays> arrays_;       // null: leaves are not kept
  cuda::Buffer<std::byte> unfinished_node_;  // which the next span completes; empty: there is none
};

}  // namespace culmen::gpu
