// Uploader: copies leaves and nodes to a device. They are scattered in memory that is not pinned, so threads gather
// them in pieces of pinned memory, each thread its own. A piece is copied while its thread gathers the next, and a
// kernel writes its leaves to their slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gpu/cuda/buffer.h"
#include "gpu/mirror/shard_map.h"
#include "gpu/mirror/slot_arrays.h"
#include "index/snapshot.h"
#include "index/tree_changes.h"

namespace culmen::gpu {

class Uploader {
 public:
  Uploader() = default;  // on the current device
  ~Uploader();           // waits for what a failed upload may have enqueued
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // Enqueues the copy of leaves and nodes to their slots, but not of packed rows, which are to be there already. Rows that the arrays keep in host memory are written on
  // return. map: of a part of the index, or null. Throws OutOfDeviceMemory or CudaError.
  void send(const Snapshot& snapshot, const TreeChanges& changes, const ShardMap* map, const SlotArrays& to);
  // Enqueues a copy of `bytes`, which may be freed on return.
  void send(std::span<const std::byte> bytes, std::byte* to);
  // The same for bytes that are not in one piece: gather(first, piece) writes those from `first` on.
  using Gather = std::function<void(std::size_t first, std::span<std::byte> piece)>;
  void send(std::size_t num_bytes, const Gather& gather, std::byte* to);
  // Enqueues the copy of items, `each` bytes long, a multiple of 8, to their slots of an array in device memory:
  // fill(i, item) writes the i-th.
  using Fill = std::function<void(std::size_t i, std::byte* item)>;
  void scatter(std::span<const std::uint32_t> slots, std::size_t each, const Fill& fill, std::byte* array);

  const cuda::Stream& stream() const { return stream_; }
  void wait() const { stream_.synchronize(); }

 private:
  static constexpr std::size_t kMostLanes = 16;  // threads; as many nearly fill a bus
  static constexpr std::size_t kMostPieces = 2 * kMostLanes;

  struct Piece {
    std::byte* on_host;
    std::byte* on_device;
    cuda::Event& copied;
  };
  void reserve(std::size_t piece_bytes, std::size_t num_pieces);
  void reserve_for_one(std::size_t piece_bytes);
  Piece piece(std::size_t i);
  Piece next_piece();

  const int device_ = cuda::current_device();
  cuda::Stream stream_;
  std::size_t piece_bytes_ = 0, num_pieces_ = 0;
  std::size_t next_ = 0;
  cuda::Buffer<std::byte> on_host_, on_device_;
  cuda::Event copied_[kMostPieces];
};

}  // namespace culmen::gpu
