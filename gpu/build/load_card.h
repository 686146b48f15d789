// LoadCard: what one device of a bulk load has, and does. It reads its rows of the table, gives every device those that
// it is to sort, and loads its own share of the leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "culmen/table.h"
#include "gpu/build/column_stats.h"
#include "gpu/build/keys.h"
#include "gpu/build/rows.h"
#include "gpu/build/span_load.h"
#include "gpu/build/table_chunks.h"
#include "gpu/cuda/buffer.h"
#include "index/snapshot.h"

namespace culmen::gpu {

// The rows of some partitions that one device gives to another, or to itself.
struct GivenRows {
  PartitionSpan partitions;
  PlacedRows to;
  std::uint64_t first;  // where they begin there
  bool stays;           // they are the device's own
};

// The device is current in all calls, which throw OutOfDeviceMemory or CudaError.
class LoadCard {
 public:
  // `rows` of the table, which outlives this, chunk_rows at a time.
  LoadCard(int device, const TableView& table, RowRange rows, std::uint32_t chunk_rows, LoadReport report);

  int device() const { return device_; }
  const cuda::Stream& stream() const { return stream_; }
  RowRange range() const { return range_; }  // that it reads

  // `stay`: see TableChunks.
  void open_chunks(bool stay) { chunks_.emplace(table_, range_, chunk_rows_, stay, stream_.get()); }
  void close_chunks() { chunks_.reset(); }
  template <typename F>
  void for_each_chunk(std::string_view phase, F&& f) {
    for (std::uint64_t i = 0; i < chunks_->size(); ++i) {
      report_(phase, static_cast<double>(i) / static_cast<double>(chunks_->size()));
      f(chunks_->get(i));
    }
  }

  // Statistics of its rows. Waits.
  struct Stats {
    std::vector<ColumnStats> columns;
    IdStats ids;
  };
  Stats collect_stats(bool round);
  // Enqueues the copy of the ids of its rows to their places among all ids.
  void copy_ids(std::int64_t* all_ids, int to_device);

  // Once the snapshot has a partitioner.
  void set_partitioner(const Snapshot& snapshot);
  // Enqueues the copy of all rows of the table to rows(), and their count.
  void collect_all();
  // Allocates memory for give_rows(). Enqueues the count of its rows. alone: it gives rows to itself only.
  void count_rows(bool alone);
  // Waits for the count.
  FirstRows first_rows() const;

  // Copies rows to where they are sorted, in the order of the table.
  void give_rows(std::vector<GivenRows> given);

  void start_load(Snapshot& snapshot, const LeafPlan& plan, const LeafShare& share);
  SpanLoad& load() { return *load_; }
  // The memory in which it gets the rows of a span.
  void make_rows(std::uint64_t num_rows) { rows_.emplace(snapshot_->leaf_shape(), num_rows); }
  const Rows& rows() const { return *rows_; }
  void free_rows() { rows_.reset(); }

 private:
  void write_keys(const TableChunk& chunk, OrderKey* keys, std::uint64_t* counts);
  void give(const TableChunk& chunk, std::uint32_t count, const GivenRows& given);

  const int device_;
  const TableView& table_;
  const RowRange range_;
  const std::uint32_t chunk_rows_;
  const LoadReport report_;
  const Snapshot* snapshot_ = nullptr;
  cuda::Stream stream_;
  std::optional<TableChunks> chunks_;
  std::optional<DevicePartitioner> partitioner_;
  cuda::Buffer<std::uint64_t> counts_;  // [num_partitions] rows
  cuda::Buffer<OrderKey> keys_;         // of a chunk
  std::optional<RowSelection> selection_;
  std::optional<Rows> outgoing_;  // of a chunk, to another device
  std::optional<Rows> rows_;
  std::optional<SpanLoad> load_;
};

}  // namespace culmen::gpu
