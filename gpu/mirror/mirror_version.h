// MirrorVersion: what a mirror keeps for a single version of the index, beside the slots that versions share.
// MirrorView: a version held for a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "gpu/cuda/buffer.h"
#include "gpu/mirror/field_slots.h"
#include "gpu/mirror/mirror_ref.h"
#include "gpu/mirror/plan_basis.h"
#include "gpu/mirror/shard_map.h"
#include "gpu/mirror/slot_arrays.h"
#include "gpu/mirror/write_slots.h"
#include "index/quantiles.h"
#include "index/snapshot.h"

namespace culmen::gpu {

// Device memory that versions reuse: freeing it would wait for all work on the device.
class BufferPool {
 public:
  BufferPool() { idle_.reserve(kMaxIdle); }

  // At least `num_bytes`. Throws OutOfDeviceMemory.
  cuda::Buffer<std::byte> take(std::size_t num_bytes);
  void give_back(cuda::Buffer<std::byte> buffer) noexcept;

 private:
  static constexpr std::size_t kMaxIdle = 8;

  std::mutex mutex_;
  std::vector<cuda::Buffer<std::byte>> idle_;
};

class PooledBuffer {
 public:
  PooledBuffer() = default;
  PooledBuffer(std::shared_ptr<BufferPool> pool, std::size_t num_bytes)
      : pool_(std::move(pool)), buffer_(pool_->take(num_bytes)) {}
  PooledBuffer(PooledBuffer&&) noexcept = default;
  PooledBuffer& operator=(PooledBuffer&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~PooledBuffer() {
    if (pool_ != nullptr) pool_->give_back(std::move(buffer_));
  }

  std::byte* data() const { return buffer_.data(); }
  std::size_t size() const { return buffer_.size(); }

 private:
  std::shared_ptr<BufferPool> pool_;  // null: nothing to return
  cuda::Buffer<std::byte> buffer_;
};

// Immutable once its memory is filled, except what the first caller that needs it creates.
class MirrorVersion {
 public:
  // `arrays` is null if the snapshot, or the part of it, has no rows, `fields` if it needs none, `map` if it is no part.
  // Device memory is uninitialised.
  MirrorVersion(const Snapshot& snapshot, std::shared_ptr<const SlotArrays> arrays,
                std::shared_ptr<const FieldSlots> fields, std::shared_ptr<const ShardMap> map,
                std::uint32_t num_slots, std::shared_ptr<BufferPool> pool);

  bool has_rows() const { return ref_.height > 0; }
  // Without the order of the leaves, unless it is kept.
  const MirrorRef& ref() const { return ref_; }
  // With the order. The first call creates it on `stream`, and waits. Throws OutOfDeviceMemory or CudaError.
  MirrorRef ref_with_order(const Snapshot& snapshot, cudaStream_t stream) const;
  // With both the order and the thresholds, likewise.
  MirrorRef ref_with_thresholds(const Snapshot& snapshot, cudaStream_t stream) const;
  // [num_attributes] for Scale::rank, in device memory. The first call writes them on `stream`, and waits. Throws as
  // Snapshot::known_quantiles, OutOfDeviceMemory or CudaError.
  std::span<const RankSteps> rank_curves(const Snapshot& snapshot, cudaStream_t stream) const;
  // The position in the snapshot of a row that the device calls so.
  std::uint64_t host_row(std::uint64_t row) const {
    if (map_ == nullptr) return row;
    const auto rows = static_cast<std::uint64_t>(ref_.leaf_rows);
    return map_->leaves().on_host(static_cast<std::uint32_t>(row / rows)) * rows + row % rows;
  }
  const PlanBasis* basis() const { return at<PlanBasis>(0); }
  std::size_t device_bytes() const {
    return memory_.size() + (arrays_ ? arrays_->device_bytes() : 0) + (fields_ ? fields_->device_bytes() : 0);
  }

  // For the creator. keep_order: for batches of a wide table, which cannot wait for it later. Throws as
  // ref_with_order().
  void keep_order(const Snapshot& snapshot, cudaStream_t stream);
  BoundsSlotsRef bounds_slots(const BoundLayout& layout) const;
  std::span<std::byte> memory() const { return {memory_.data(), offsets_.end}; }
  static std::vector<std::byte> constants(const Snapshot& snapshot);  // the first bytes of memory()

 private:
  struct Offsets {
    std::size_t attributes, nodes, min_ids, bounds, end;
  };
  // The leaves of a part in the tree's order, as slots of the device and as positions in the snapshot's order.
  struct PartOrder {
    std::vector<std::uint32_t> leaves, positions;
    std::vector<PartitionRange> partitions;
  };
  PartOrder part_order(const Snapshot& snapshot) const;
  static Offsets offsets_of(const Snapshot& snapshot, std::uint32_t num_slots);
  template <typename T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(memory_.data() + offset);
  }

  std::shared_ptr<const SlotArrays> arrays_;
  std::shared_ptr<const FieldSlots> fields_;
  std::shared_ptr<const ShardMap> map_;
  std::shared_ptr<BufferPool> pool_;
  Offsets offsets_;
  PooledBuffer memory_;
  MirrorRef ref_ = {};
  mutable std::once_flag order_once_, thresholds_once_, curves_once_;
  mutable PooledBuffer order_;  // leaf_order, then partitions
  mutable std::uint32_t num_ordered_ = 0, num_partitions_ = 0;
  mutable PooledBuffer thresholds_;  // smallest ids, then values
  mutable PooledBuffer curve_numbers_;
  mutable std::vector<RankSteps> curves_;
};

// What a search holds from its beginning to its end: while there is a view of a version, its slots are not reused,
// neither on the host nor on the device.
struct MirrorView {
  std::shared_ptr<const MirrorVersion> mirror;
  std::shared_ptr<const Snapshot> snapshot;
};

// visit_rows (gpu/mirror/slot_arrays.h) for a version.
template <typename F>
decltype(auto) visit_rows(const MirrorView& view, F&& f) {
  return visit_rows(*view.snapshot, view.mirror->ref(), std::forward<F>(f));
}

}  // namespace culmen::gpu
