#include "gpu/build/load_card.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "gpu/build/transfer.h"

namespace culmen::gpu {

LoadCard::LoadCard(int device, const TableView& table, RowRange rows, std::uint32_t chunk_rows,
                   LoadReport report)
    : device_(device), table_(table), range_(rows), chunk_rows_(chunk_rows), report_(std::move(report)) {}

LoadCard::Stats LoadCard::collect_stats(bool round) {
  const auto d_stats = send(std::vector(table_.columns.size(), no_stats()), stream_.get());
  const auto d_ids = send(std::vector(1, IdStats()), stream_.get());
  for_each_chunk("reading", [&](const TableChunk& chunk) {
    launch_column_stats(chunk, round, d_stats.data(), stream_.get());
    if (chunk.ids == nullptr) return;
    std::optional<std::int64_t> previous;
    if (chunk.first_row > 0) previous = table_.ids[chunk.first_row - 1];
    launch_id_stats(chunk, previous, d_ids.data(), stream_.get());
  });
  Stats stats;
  stats.ids = fetch(d_ids, stream_.get()).front();
  const std::vector<DeviceStats> columns = fetch(d_stats, stream_.get());
  std::transform(columns.begin(), columns.end(), std::back_inserter(stats.columns), to_column_stats);
  return stats;
}

void LoadCard::copy_ids(std::int64_t* all_ids, int to_device) {
  for_each_chunk("reading", [&](const TableChunk& chunk) {
    cuda::check(cudaMemcpyPeerAsync(all_ids + chunk.first_row, to_device, chunk.ids, device_,
                                    chunk.num_rows * sizeof(std::int64_t), stream_.get()));
  });
}

void LoadCard::set_partitioner(const Snapshot& snapshot) {
  snapshot_ = &snapshot;
  partitioner_.emplace(*snapshot.partitioner, table_.num_rows, stream_.get());
  counts_ = cuda::Buffer<std::uint64_t>(snapshot.partitioner->num_partitions());
  cuda::check(cudaMemsetAsync(counts_.data(), 0, counts_.size_bytes(), stream_.get()));
}

void LoadCard::write_keys(const TableChunk& chunk, OrderKey* keys, std::uint64_t* counts) {
  visit_value_type(*snapshot_, [&]<typename T>(T) {
    launch_keys<T>(chunk, partitioner_->rule(), keys, counts, stream_.get());
  });
}

void LoadCard::collect_all() {
  const RowsRef rows = rows_->ref();
  for_each_chunk("partitioning", [&](const TableChunk& chunk) {
    write_keys(chunk, rows.keys + chunk.first_row, counts_.data());
    visit_value_type(*snapshot_, [&]<typename T>(T) {
      launch_collect<T>(chunk, nullptr, nullptr, chunk.num_rows, rows, chunk.first_row, stream_.get());
    });
  });
}

void LoadCard::count_rows(bool alone) {
  const auto chunk_rows =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(range_.size(), 1, chunk_rows_));
  keys_ = cuda::Buffer<OrderKey>(chunk_rows);
  selection_.emplace(chunk_rows, stream_.get());
  if (!alone) outgoing_.emplace(snapshot_->leaf_shape(), chunk_rows);
  for_each_chunk("partitioning",
                 [&](const TableChunk& chunk) { write_keys(chunk, keys_.data(), counts_.data()); });
}

FirstRows LoadCard::first_rows() const {
  const std::vector<std::uint64_t> counts = fetch(counts_, stream_.get());
  FirstRows first(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), first.begin() + 1);
  return first;
}

void LoadCard::give_rows(std::vector<GivenRows> given) {
  for_each_chunk("partitioning", [&](const TableChunk& chunk) {
    write_keys(chunk, keys_.data(), nullptr);
    for (GivenRows& some : given) {
      const std::uint32_t count = selection_->select(keys_.data(), chunk.num_rows, some.partitions);
      give(chunk, count, some);
      some.first += count;
    }
  });
}

void LoadCard::give(const TableChunk& chunk, std::uint32_t count, const GivenRows& given) {
  const RowsRef target = given.stays ? given.to.rows : outgoing_->ref();
  const std::uint64_t first = given.stays ? given.first : 0;
  visit_value_type(*snapshot_, [&]<typename T>(T) {
    launch_collect<T>(chunk, keys_.data(), selection_->rows(), count, target, first, stream_.get());
  });
  if (given.stays) return;
  copy_rows({outgoing_->ref(), device_}, count, given.to, given.first, snapshot_->leaf_shape(),
            stream_.get());
}

void LoadCard::start_load(Snapshot& snapshot, const LeafPlan& plan, const LeafShare& share) {
  load_.emplace(snapshot, table_.labels, plan, share, report_, device_, stream_.get());
}

}  // namespace culmen::gpu
