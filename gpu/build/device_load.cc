#include "gpu/build/device_load.h"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/with_threads.h"
#include "gpu/build/bounds.h"
#include "gpu/build/column_stats.h"
#include "gpu/build/cut_search.h"
#include "gpu/build/fresh_pages.h"
#include "gpu/build/keys.h"
#include "gpu/build/load_room.h"
#include "gpu/build/sort.h"
#include "gpu/build/span_load.h"
#include "gpu/build/transfer.h"
#include "gpu/mirror/loaded_tree.h"
#include "index/build/bulk_load.h"
#include "index/build/filled_table.h"
#include "index/build/load_fields.h"
#include "index/build/load_steps.h"
#include "index/build/partition_plan.h"
#include "index/field_rows.h"
#include "index/node_zone_map.h"
#include "index/table_shape.h"

namespace culmen {
namespace gpu {
namespace {

// Bytes of a chunk: enough to keep the bus busy, and little compared with the memory of a card.
constexpr std::uint64_t kChunkBytes = 256 << 20;
constexpr std::uint64_t kMaxRowsAtOnce = (std::uint64_t{1} << 31) - 1;  // sorts number rows by 32 bits

std::uint32_t rows_of_a_chunk(const TableView& table, const LoadLimits& limits) {
  if (limits.chunk_rows > 0) return limits.chunk_rows;
  return static_cast<std::uint32_t>(kChunkBytes / TableChunks::row_bytes(table));
}

// An upper bound on the number of partitions, before the type of the values is known.
std::uint64_t most_partitions(const TableView& table, const BuildOptions& options, int leaf_rows) {
  if (options.num_splits > 0) return kMaxPartitions;
  if (options.num_partitions > 0) return static_cast<std::uint64_t>(options.num_partitions);
  return table.num_rows / static_cast<std::uint64_t>(leaf_rows) + 1;
}

// The phases of a bulk load, in the order of run(). The table has rows, and a checked shape.
class DeviceLoader {
 public:
  // `filled`: a table that misses no value, with statistics of the original, which may. Null: not known yet.
  DeviceLoader(const TableView& table, const FilledTable* filled, const BuildOptions& options,
               const LoadLimits& limits)
      : table_(table),
        filled_(filled),
        options_(options),
        limits_(limits),
        chunk_rows_(rows_of_a_chunk(table, limits)) {}

  // Returns nothing if the load needs more device memory than there is, or if the table misses values. Writes no zone
  // maps of nodes.
  std::optional<DeviceLoad> run() {
    const cuda::WaitAtEnd wait(stream_);  // before buffers are freed, and the caller's table may be
    collect_stats();
    if (misses_values_) return std::nullopt;
    prepare_pages();
    choose_partitions();
    DeviceLoad loaded;
    if (fits_at_once()) {
      loaded.on_device = load_at_once();
    } else if (!load_in_parts()) {
      return std::nullopt;
    }
    loaded.snapshot = std::move(snapshot_);
    report("done", 1);
    return loaded;
  }

  // After run().
  bool misses_values() const { return misses_values_; }

 private:
  void report(std::string_view phase, double fraction) const {
    if (options_.on_progress) options_.on_progress(phase, fraction);
  }
  template <typename F>
  void for_each_chunk(std::string_view phase, F&& f) {
    for (std::uint64_t i = 0; i < chunks_->size(); ++i) {
      report(phase, static_cast<double>(i) / static_cast<double>(chunks_->size()));
      f(chunks_->get(i));
    }
  }

  std::uint64_t room() const;
  void collect_stats();
  void prepare_pages();
  std::vector<ColumnStats> stats_of_chunks(IdStats& ids);
  void check_ids();
  void choose_partitions();
  bool fits_at_once() const;
  std::shared_ptr<const LoadedTree> load_at_once();
  std::shared_ptr<const LoadedTree> finish(std::shared_ptr<SlotArrays> arrays) const;
  bool load_in_parts();
  void write_keys(const TableChunk& chunk, OrderKey* keys, std::uint64_t* counts);
  std::vector<std::uint64_t> first_rows() const;
  std::optional<std::vector<PartitionSpan>> spans_that_fit(std::span<const std::uint64_t> first_rows) const;
  void collect(PartitionSpan span, OrderKey* keys, RowSelection& selection, const Rows& rows);
  SpanLoad make_span_load(std::span<const std::uint64_t> first_rows);

  const TableView& table_;
  const FilledTable* filled_;
  const BuildOptions& options_;
  const LoadLimits limits_;
  const std::uint32_t chunk_rows_;
  cuda::Stream stream_;
  std::optional<TableChunks> chunks_;
  bool misses_values_ = false;
  bool ids_ascend_ = true;  // in the order of the rows
  std::shared_ptr<Snapshot> snapshot_;
  FreshPages pages_;
  std::optional<DevicePartitioner> partitioner_;
  cuda::Buffer<std::uint64_t> counts_;  // [num_partitions] rows
};

// Bytes that may be allocated now. A part of the free memory is left to others.
std::uint64_t DeviceLoader::room() const {
  if (limits_.device_bytes > 0) return limits_.device_bytes;
  const std::size_t usable = cuda::free_device_bytes() / 10 * 9;
  return usable - std::min(usable, RowSort::kMoreBytes + DeviceBounds::kBytes);
}

void DeviceLoader::collect_stats() {
  report("reading", 0);
  const int leaf_rows = checked_leaf_rows(options_.leaf_rows);
  const LoadRoom most(table_, leaf_rows, largest_value_bytes(table_, options_.value_type));
  const std::uint64_t n = table_.num_rows;
  const std::uint64_t most_bytes =
      n * most.table_row + most.for_table(n, most_partitions(table_, options_, leaf_rows));
  chunks_.emplace(table_, chunk_rows_, most_bytes <= room(), stream_.get());
  IdStats ids;
  const std::vector<ColumnStats> columns = stats_of_chunks(ids);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    check_values(table_, i, columns[i]);
    misses_values_ |= columns[i].first_missing_row != ColumnStats::kNoRow;
  }
  if (misses_values_) return;
  ids_ascend_ = table_.ids.empty() || ids.is_unsorted == 0;
  if (!ids_ascend_) check_ids();
  const std::int64_t largest = table_.ids.empty() ? static_cast<std::int64_t>(n) - 1 : ids.largest;
  if (filled_ != nullptr) {
    snapshot_ = start_snapshot(*filled_, options_, id_after(largest));
  } else {
    const FilledTable table(table_, make_table_stats(table_, columns, options_.value_type),
                            options_.stand_ins);
    snapshot_ = start_snapshot(table, options_, id_after(largest));
  }
}

// Allocates the fewest leaves that can hold the rows: their number is known only after partitioning.
void DeviceLoader::prepare_pages() {
  const auto leaf_rows = static_cast<std::uint64_t>(snapshot_->leaf_rows);
  allocate_tree(*snapshot_, (table_.num_rows + leaf_rows - 1) / leaf_rows);
  pages_.start(snapshot_->arena);
}

std::vector<ColumnStats> DeviceLoader::stats_of_chunks(IdStats& ids) {
  const bool round = options_.value_type == ValueType::float32;
  const auto d_stats = send(std::vector(table_.columns.size(), no_stats()), stream_.get());
  const auto d_ids = send(std::vector(1, ids), stream_.get());
  for_each_chunk("reading", [&](const TableChunk& chunk) {
    launch_column_stats(chunk, round, d_stats.data(), stream_.get());
    if (chunk.ids == nullptr) return;
    std::optional<std::int64_t> previous;
    if (chunk.first_row > 0) previous = table_.ids[chunk.first_row - 1];
    launch_id_stats(chunk, previous, d_ids.data(), stream_.get());
  });
  ids = fetch(d_ids, stream_.get()).front();
  const std::vector<DeviceStats> stats = fetch(d_stats, stream_.get());
  std::vector<ColumnStats> result;
  std::transform(stats.begin(), stats.end(), std::back_inserter(result), to_column_stats);
  return result;
}

// On the device if there is room to sort all ids. If two are equal, the host check throws with the message.
void DeviceLoader::check_ids() {
  const std::uint64_t n = table_.num_rows;
  if (n <= kMaxRowsAtOnce && n * (sizeof(std::int64_t) + RowSort::kRowBytes) <= room()) {
    const cuda::Buffer<std::int64_t> ids(n);
    for_each_chunk("reading", [&](const TableChunk& chunk) {
      cuda::check(cudaMemcpyAsync(ids.data() + chunk.first_row, chunk.ids,
                                  chunk.num_rows * sizeof(std::int64_t), cudaMemcpyDeviceToDevice,
                                  stream_.get()));
    });
    RowSort sort(static_cast<std::uint32_t>(n), stream_.get());
    if (sort.are_unique(ids.data(), static_cast<std::uint32_t>(n))) return;
  }
  check_ids_unique(table_.ids);
}

void DeviceLoader::choose_partitions() {
  report("partitioning", 0);
  const PartitionPlan plan = plan_partitions(*snapshot_, table_, options_);
  const bool has_room = plan.sample_rows * CutSearch::row_bytes(*snapshot_) <= room();
  if (plan.kind == Partitioning::angle && has_room) {
    CutSearch search(*snapshot_, plan, stream_.get());
    for_each_chunk("partitioning", [&](const TableChunk& chunk) { search.add(chunk); });
    snapshot_->partitioner = std::make_shared<const Partitioner>(search.find());
  } else {
    snapshot_->partitioner = make_partitioner(*snapshot_, table_, plan);
  }
  partitioner_.emplace(*snapshot_->partitioner, table_.num_rows, stream_.get());
  counts_ = cuda::Buffer<std::uint64_t>(snapshot_->partitioner->num_partitions());
  cuda::check(cudaMemsetAsync(counts_.data(), 0, counts_.size_bytes(), stream_.get()));
}

bool DeviceLoader::fits_at_once() const {
  const LoadRoom each(table_, snapshot_->leaf_rows, snapshot_->value_bytes());
  return table_.num_rows <= kMaxRowsAtOnce &&
         each.for_table(table_.num_rows, snapshot_->partitioner->num_partitions()) <= room();
}

void DeviceLoader::write_keys(const TableChunk& chunk, OrderKey* keys, std::uint64_t* counts) {
  visit_value_type(*snapshot_, [&]<typename T>(T) {
    launch_keys<T>(chunk, partitioner_->rule(), keys, counts, stream_.get());
  });
}

// Waits for the counts. Returns where each partition begins, and the last one ends, among all rows in key order.
std::vector<std::uint64_t> DeviceLoader::first_rows() const {
  const std::vector<std::uint64_t> counts = fetch(counts_, stream_.get());
  std::vector<std::uint64_t> first(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), first.begin() + 1);
  return first;
}

SpanLoad DeviceLoader::make_span_load(std::span<const std::uint64_t> first_rows) {
  return SpanLoad(
      *snapshot_, table_.labels, first_rows, pages_,
      [this](std::string_view phase, double fraction) { report(phase, fraction); }, stream_.get());
}

std::shared_ptr<const LoadedTree> DeviceLoader::load_at_once() {
  const Rows rows(snapshot_->leaf_shape(), table_.num_rows);
  for_each_chunk("partitioning", [&](const TableChunk& chunk) {
    write_keys(chunk, rows.ref().keys + chunk.first_row, counts_.data());
    visit_value_type(*snapshot_, [&]<typename T>(T) {
      launch_collect<T>(chunk, nullptr, nullptr, chunk.num_rows, rows.ref(), chunk.first_row, stream_.get());
    });
  });
  SpanLoad load = make_span_load(first_rows());
  chunks_.reset();  // frees memory for the leaves
  std::shared_ptr<SlotArrays> arrays;
  if (options_.stays_on_device) arrays = load.make_arrays();
  load.load({0, snapshot_->partitioner->num_partitions()}, rows, ids_ascend_);
  stack_levels(*snapshot_);
  return finish(std::move(arrays));
}

// Copies the upper levels, which the host has stacked, to the device.
std::shared_ptr<const LoadedTree> DeviceLoader::finish(std::shared_ptr<SlotArrays> arrays) const {
  if (arrays == nullptr) return nullptr;
  const SlotArena& arena = *snapshot_->arena;
  const std::size_t first = (snapshot_->num_leaves + kFanOut - 1) / kFanOut;
  cuda::check(cudaMemcpyAsync(arrays->ref().nodes + first * arena.node_bytes(), arena.node(first).bytes,
                              (snapshot_->num_nodes - first) * arena.node_bytes(), cudaMemcpyHostToDevice,
                              stream_.get()));
  stream_.synchronize();
  return std::make_shared<const LoadedTree>(
      LoadedTree{std::move(arrays), snapshot_->arena, snapshot_->version});
}

// Spans of as many partitions as there is room for. Nothing if a single partition does not fit.
std::optional<std::vector<PartitionSpan>> DeviceLoader::spans_that_fit(
    std::span<const std::uint64_t> first_rows) const {
  const LoadRoom each(table_, snapshot_->leaf_rows, snapshot_->value_bytes());
  const std::uint64_t most_bytes = room();
  std::vector<PartitionSpan> spans = {{0, 0}};
  std::uint64_t bytes = 0;
  const auto fits = [&](std::uint32_t end) {
    return bytes <= most_bytes && first_rows[end] - first_rows[spans.back().first] <= kMaxRowsAtOnce;
  };
  for (std::uint32_t p = 0; p + 1 < first_rows.size(); ++p) {
    const std::uint64_t more = each.for_table(first_rows[p + 1] - first_rows[p], 0);
    bytes += more;
    if (!fits(p + 1) && spans.back().end > spans.back().first) {
      spans.push_back({p, p});
      bytes = more;
    }
    if (!fits(p + 1)) return std::nullopt;
    spans.back().end = p + 1;
  }
  return spans;
}

bool DeviceLoader::load_in_parts() {
  const cuda::Buffer<OrderKey> keys(chunk_rows_);
  RowSelection selection(chunk_rows_, stream_.get());
  for_each_chunk("partitioning",
                 [&](const TableChunk& chunk) { write_keys(chunk, keys.data(), counts_.data()); });
  const std::vector<std::uint64_t> first = first_rows();
  const auto spans = spans_that_fit(first);
  if (!spans) return false;
  SpanLoad load = make_span_load(first);
  for (const PartitionSpan span : *spans) {
    const Rows rows(snapshot_->leaf_shape(), first[span.end] - first[span.first]);
    collect(span, keys.data(), selection, rows);
    load.load(span, rows, ids_ascend_);
  }
  stack_levels(*snapshot_);
  return true;
}

// Collects the rows of some partitions, in the order of the table.
void DeviceLoader::collect(PartitionSpan span, OrderKey* keys, RowSelection& selection, const Rows& rows) {
  std::uint64_t num_collected = 0;
  for_each_chunk("partitioning", [&](const TableChunk& chunk) {
    write_keys(chunk, keys, nullptr);
    const std::uint32_t count = selection.select(keys, chunk.num_rows, span);
    visit_value_type(*snapshot_, [&]<typename T>(T) {
      launch_collect<T>(chunk, keys, selection.rows(), count, rows.ref(), num_collected, stream_.get());
    });
    num_collected += count;
  });
}

// The rows of a table by their ids.
RowOfLeaf rows_by_id(const Snapshot& snapshot, const TableView& table) {
  auto rows = std::make_shared<std::vector<std::pair<std::int64_t, std::uint64_t>>>();
  for (std::uint64_t row = 0; row < table.ids.size(); ++row) rows->emplace_back(table.ids[row], row);
  tbb::parallel_sort(rows->begin(), rows->end());
  return [rows, &snapshot](std::size_t leaf, std::uint32_t position) {
    const std::int64_t id = snapshot.leaf_ids(leaf)[position];
    if (rows->empty()) return static_cast<std::uint64_t>(id);
    return std::ranges::lower_bound(*rows, id, {}, &std::pair<std::int64_t, std::uint64_t>::first)->second;
  };
}

// A table with gaps or fields: the device loads it with stand-ins in place, the host adds the rest. Nothing if there is
// too little device memory.
std::optional<DeviceLoad> load_filled(const TableView& table, const BuildOptions& options,
                                      const LoadLimits& limits) {
  const FilledTable filled(table, table_stats(table, options.value_type), options.stand_ins);
  std::optional<DeviceLoad> loaded = DeviceLoader(filled.view(), &filled, options, limits).run();
  if (!loaded) return loaded;
  Snapshot& snapshot = *loaded->snapshot;
  load_fields(snapshot, table, code_fields(table), filled.stats().has_gaps, rows_by_id(snapshot, table));
  return loaded;
}

// Nothing: as load_filled. The host does not look for NaN; the device's statistics tell.
std::optional<DeviceLoad> load(const TableView& table, const BuildOptions& options,
                               const LoadLimits& limits) {
  if (table.fields.empty() && !marks_missing(table)) {
    DeviceLoader loader(table, nullptr, options, limits);
    std::optional<DeviceLoad> loaded = loader.run();
    if (!loader.misses_values()) return loaded;
  }
  return load_filled(table, options, limits);
}

}  // namespace
}  // namespace gpu

DeviceLoad load_on_device(const TableView& table, const BuildOptions& options, const LoadLimits& limits) {
  cuda::require_device(options.device);
  const cuda::DeviceScope scope(options.device);
  return with_threads(options.num_threads, [&]() -> DeviceLoad {
    checked_leaf_rows(options.leaf_rows);
    check_shape(table);
    check_fields(table);
    if (table.num_rows > 0 && options.cluster.empty()) {
      if (std::optional<DeviceLoad> loaded = gpu::load(table, options, limits)) {
        write_node_zone_maps(*loaded->snapshot);
        return *std::move(loaded);
      }
    }
    // On the host: a table without rows, clustered, or with a partition that does not fit into device memory.
    return {bulk_load(table, options), nullptr};
  });
}

}  // namespace culmen
