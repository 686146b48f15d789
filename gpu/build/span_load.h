// SpanLoad: builds a device's share of the leaves, a span of partitions at a time, and downloads them into a snapshot.
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
#include "gpu/build/leaf_shares.h"
#include "gpu/build/leaves.h"
#include "gpu/build/rows.h"
#include "gpu/build/sort.h"
#include "gpu/cuda/buffer.h"
#include "gpu/mirror/slot_arrays.h"
#include "index/snapshot.h"

namespace culmen::gpu {

// Takes the progress of a load, as BuildOptions::on_progress.
using LoadReport = std::function<void(std::string_view phase, double fraction)>;

// Where each partition begins among some rows in key order, and the last one ends.
using FirstRows = std::vector<std::uint64_t>;  // [num_partitions + 1]

// The leaves of each partition, and its place among all rows.
struct LeafPlan {
  FirstRows first_rows;
  std::vector<PartitionRange> partitions;  // [num_partitions]

  std::uint64_t num_rows(PartitionSpan span) const { return first_rows[span.end] - first_rows[span.first]; }
};

class SpanLoad {
 public:
  // The snapshot's tree is allocated. The snapshot, the plan and the labels outlive this. Throws OutOfDeviceMemory or
  // CudaError.
  SpanLoad(Snapshot& snapshot, LabelsView labels, const LeafPlan& plan, const LeafShare& share,
           LoadReport report, int device, cudaStream_t stream);
  SpanLoad(const SpanLoad&) = delete;
  SpanLoad& operator=(const SpanLoad&) = delete;
  ~SpanLoad();

  // Before a load of one span of all partitions: allocates memory for all slots, in which the leaves are kept. Null
  // if there is no room.
  std::shared_ptr<SlotArrays> make_arrays();

  // Makes those leaves of the share that belong to the span. For one span after the other, from the first partition of
  // the share to its last; waits. ids_ascend: in the order of the rows.
  void make(PartitionSpan span, const Rows& rows, bool ids_ascend);
  // Copies what was made to the snapshot. Nobody else writes to its memory now.
  void download(const Rows& rows);

 private:
  struct LeafBuffers;
  struct Made;  // leaves of a span

  PartitionsRef partitions_ref(PartitionSpan span) const;
  LeafTarget target_of(PartitionSpan span) const;
  template <typename T>
  void make_leaves(const LeafTarget& leaves, const PartitionsRef& partitions, const Rows& rows,
                   const std::uint32_t* order, std::uint32_t* starts);
  // The leaves and the nodes above them.
  std::array<Download, 6> downloads_of(const LeafTarget& leaves, const std::uint16_t* codes) const;
  void keep_unfinished_node(const LeafTarget& leaves);
  void copy_labels(const LeafTarget& leaves, const Rows& rows, const std::uint32_t* order,
                   const std::uint32_t* starts);

  Snapshot& snapshot_;
  LabelsView labels_;
  const LeafPlan& plan_;
  const LeafShare share_;
  LoadReport report_;
  cudaStream_t stream_;
  cuda::Buffer<std::uint64_t> d_first_rows_;
  cuda::Buffer<PartitionRange> d_partitions_;
  cuda::Buffer<BoundUnit> d_units_;
  DeviceBounds bounds_;
  Downloader downloader_;
  std::shared_ptr<SlotArrays> arrays_;       // null: leaves are not kept
  cuda::Buffer<std::byte> unfinished_node_;  // which the next span completes; empty: there is none
  std::unique_ptr<Made> made_;               // and not downloaded yet
};

}  // namespace culmen::gpu
