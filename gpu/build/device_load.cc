#include "gpu/build/device_load.h"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "gpu/build/bounds.h"
#include "gpu/build/column_stats.h"
#include "gpu/build/cut_search.h"
#include "gpu/build/fresh_pages.h"
#include "gpu/build/leaf_shares.h"
#include "gpu/build/load_cards.h"
#include "gpu/build/load_room.h"
#include "gpu/build/sort.h"
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

// Of all rows, from those of each device's rows.
FirstRows sum_of(const std::vector<FirstRows>& parts) {
  FirstRows sum(parts.front().size(), 0);
  for (const FirstRows& part : parts)
    std::transform(sum.begin(), sum.end(), part.begin(), sum.begin(), std::plus<>());
  return sum;
}

// The phases of a bulk load, in the order of run(). The table has rows, and a checked shape. Devices read equal runs of
// rows, and load equal shares of the leaves. A phase ends when all of them have done its work.
class DeviceLoader {
 public:
  // `filled`: a table that misses no value, with statistics of the original, which may. Null: not known yet.
  DeviceLoader(const TableView& table, const FilledTable* filled, const BuildOptions& options,
               const LoadLimits& limits);

  // Returns nothing if the load needs more device memory than there is, or if the table misses values. Writes no zone
  // maps of nodes.
  std::optional<DeviceLoad> run();

  // After run().
  bool misses_values() const { return misses_values_; }

 private:
  using Spans = std::vector<PartitionSpan>;
  using SpanOfEach = std::vector<std::optional<PartitionSpan>>;  // of each device that has one

  void report(std::string_view phase, double fraction) const {
    if (options_.on_progress) options_.on_progress(phase, fraction);
  }

  std::uint64_t room(const LoadCard& card) const;
  std::vector<bool> cards_with_room_for_chunks() const;
  void collect_stats();
  void prepare_pages();
  std::vector<ColumnStats> stats_of_chunks(IdStats& ids);
  void check_ids();
  bool finds_unique_ids();
  void choose_partitions();
  std::shared_ptr<const Partitioner> find_partitioner(const PartitionPlan& plan);
  bool fits_at_once() const;
  std::shared_ptr<const LoadedTree> load_at_once();
  std::shared_ptr<const LoadedTree> finish(std::shared_ptr<SlotArrays> arrays);
  bool load_in_rounds();
  void plan_leaves(FirstRows first_rows);
  void start_loads(const std::vector<LeafShare>& shares);
  std::optional<Spans> spans_that_fit(const LeafShare& share, std::uint64_t most_bytes) const;
  void exchange_rows(const SpanOfEach& spans, const std::vector<FirstRows>& first_rows);
  void load_spans(const SpanOfEach& spans);

  const TableView& table_;
  const FilledTable* filled_;
  const BuildOptions& options_;
  const LoadLimits limits_;
  bool misses_values_ = false;
  bool ids_ascend_ = true;  // in the order of the rows
  std::shared_ptr<Snapshot> snapshot_;
  FreshPages pages_;
  LeafPlan plan_;
  LoadCards cards_;
};

DeviceLoader::DeviceLoader(const TableView& table, const FilledTable* filled, const BuildOptions& options,
                           const LoadLimits& limits)
    : table_(table),
      filled_(filled),
      options_(options),
      limits_(limits),
      cards_(devices_that_build(options), table, rows_of_a_chunk(table, limits), options) {}

std::optional<DeviceLoad> DeviceLoader::run() {
  collect_stats();
  if (misses_values_) return std::nullopt;
  choose_partitions();
  prepare_pages();  // not before: the choice needs the threads, and all else waits for it
  DeviceLoad loaded;
  if (cards_.is_alone() && fits_at_once()) {
    loaded.on_device = load_at_once();
  } else if (!load_in_rounds()) {
    return std::nullopt;
  }
  loaded.snapshot = std::move(snapshot_);
  report("done", 1);
  return loaded;
}

// Bytes that may be allocated now. A part of the free memory is left to others.
std::uint64_t DeviceLoader::room(const LoadCard& card) const {
  if (limits_.device_bytes > 0) return limits_.device_bytes;
  const cuda::DeviceScope scope(card.device());
  const std::size_t usable = cuda::free_device_bytes() / 10 * 9 / cards_.num_of(card.device());
  return usable - std::min(usable, RowSort::kMoreBytes + DeviceBounds::kBytes);
}

// All are asked before any of them allocates: several may be the same device.
std::vector<bool> DeviceLoader::cards_with_room_for_chunks() const {
  const int leaf_rows = checked_leaf_rows(options_.leaf_rows);
  const LoadRoom most(table_, leaf_rows, largest_value_bytes(table_, options_.value_type));
  const std::uint64_t partitions = most_partitions(table_, options_, leaf_rows) / cards_.size() + 1;
  std::vector<bool> has_room;
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    const std::uint64_t rows = cards_[i].range().size();
    has_room.push_back(rows * most.table_row + most.for_table(rows, partitions) <= room(cards_[i]));
  }
  return has_room;
}

void DeviceLoader::collect_stats() {
  report("reading", 0);
  IdStats ids;
  const std::vector<ColumnStats> columns = stats_of_chunks(ids);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    // The values of a filled table were checked before the gaps were filled. A mean in the place of a missing date
    // may be no whole day, which is no error.
    if (filled_ == nullptr) check_values(table_, i, columns[i]);
    misses_values_ |= columns[i].first_missing_row != ColumnStats::kNoRow;
  }
  if (misses_values_) return;
  ids_ascend_ = table_.ids.empty() || ids.is_unsorted == 0;
  if (!ids_ascend_) check_ids();
  const std::int64_t largest =
      table_.ids.empty() ? static_cast<std::int64_t>(table_.num_rows) - 1 : ids.largest;
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
  const std::vector<bool> stay = cards_with_room_for_chunks();
  std::vector<LoadCard::Stats> stats(cards_.size());
  cards_.on_each([&](LoadCard& card, std::size_t i) {
    card.open_chunks(stay[i]);
    stats[i] = card.collect_stats(round);
  });
  std::vector<ColumnStats> columns(table_.columns.size());
  for (const LoadCard::Stats& each : stats) {
    for (std::size_t c = 0; c < columns.size(); ++c) join(columns[c], each.columns[c]);
    ids.largest = std::max(ids.largest, each.ids.largest);
    ids.is_unsorted |= each.ids.is_unsorted;
  }
  return columns;
}

// If two ids are equal, the host check throws with the message.
void DeviceLoader::check_ids() {
  if (!finds_unique_ids()) check_ids_unique(table_.ids, table_.id_type);
}

// On the first device if there is room to sort all ids.
bool DeviceLoader::finds_unique_ids() {
  const std::uint64_t n = table_.num_rows;
  if (n > kMaxRowsAtOnce || n * (sizeof(std::int64_t) + RowSort::kRowBytes) > room(cards_.first()))
    return false;
  cuda::Buffer<std::int64_t> ids;
  cards_.on_first([&](LoadCard&) { ids = cuda::Buffer<std::int64_t>(n); });
  cards_.on_each([&](LoadCard& card, std::size_t) { card.copy_ids(ids.data(), cards_.first().device()); });
  bool are_unique = false;
  cards_.on_first([&](LoadCard& card) {
    RowSort sort(static_cast<std::uint32_t>(n), card.stream().get());
    are_unique = sort.are_unique(ids.data(), static_cast<std::uint32_t>(n));
  });
  return are_unique;
}

void DeviceLoader::choose_partitions() {
  report("partitioning", 0);
  const PartitionPlan plan = plan_partitions(*snapshot_, table_, options_);
  const bool has_room = plan.sample_rows * CutSearch::row_bytes(*snapshot_) <= room(cards_.first());
  snapshot_->partitioner = plan.kind != Partitioning::random && has_room
                               ? find_partitioner(plan)
                               : make_partitioner(*snapshot_, table_, plan);
  cards_.on_each([this](LoadCard& card, std::size_t) { card.set_partitioner(*snapshot_); });
}

// On the first device, from a sample to which each gives its part.
std::shared_ptr<const Partitioner> DeviceLoader::find_partitioner(const PartitionPlan& plan) {
  std::optional<CutSearch> search;
  cards_.on_first([&](LoadCard& card) { search.emplace(*snapshot_, plan, card.stream().get()); });
  cards_.on_each([&](LoadCard& card, std::size_t) {
    SamplePart part(*snapshot_, plan, card.range(), card.stream().get());
    card.for_each_chunk("partitioning", [&](const TableChunk& chunk) { part.add(chunk); });
    search->take(part, card.device(), cards_.first().device(), card.stream().get());
    card.stream().synchronize();
  });
  std::shared_ptr<const Partitioner> found;
  cards_.on_first([&](LoadCard&) { found = std::make_shared<const Partitioner>(search->find()); });
  return found;
}

bool DeviceLoader::fits_at_once() const {
  const LoadRoom each(table_, snapshot_->leaf_rows, snapshot_->value_bytes());
  return table_.num_rows <= kMaxRowsAtOnce &&
         each.for_table(table_.num_rows, snapshot_->partitioner->num_partitions()) <= room(cards_.first());
}

// Allocates the tree.
void DeviceLoader::plan_leaves(FirstRows first_rows) {
  plan_ = {std::move(first_rows), {}};
  plan_.partitions = partition_ranges(plan_.first_rows, snapshot_->leaf_rows);
  const PartitionRange& last = plan_.partitions.back();
  allocate_tree(*snapshot_, last.first_leaf + std::size_t{last.num_leaves});
  pages_.start(snapshot_->arena);
}

void DeviceLoader::start_loads(const std::vector<LeafShare>& shares) {
  cards_.on_each([&](LoadCard& card, std::size_t i) { card.start_load(*snapshot_, plan_, shares[i]); });
}

std::shared_ptr<const LoadedTree> DeviceLoader::load_at_once() {
  FirstRows first_rows;
  cards_.on_first([&](LoadCard& card) {
    card.make_rows(table_.num_rows);
    card.collect_all();
    first_rows = card.first_rows();
  });
  plan_leaves(std::move(first_rows));
  start_loads(share_leaves(plan_.partitions, 1));
  std::shared_ptr<SlotArrays> arrays;
  cards_.on_first([&](LoadCard& card) {
    card.close_chunks();  // frees memory for the leaves
    if (options_.stays_on_device) arrays = card.load().make_arrays();
  });
  load_spans({PartitionSpan{0, snapshot_->partitioner->num_partitions()}});
  stack_levels(*snapshot_);
  return finish(std::move(arrays));
}

// Copies the upper levels, which the host has stacked, to the device.
std::shared_ptr<const LoadedTree> DeviceLoader::finish(std::shared_ptr<SlotArrays> arrays) {
  if (arrays == nullptr) return nullptr;
  const SlotArena& arena = *snapshot_->arena;
  const std::size_t first_node = (snapshot_->num_leaves + kFanOut - 1) / kFanOut;
  cards_.on_first([&](LoadCard& card) {
    cuda::check(cudaMemcpyAsync(arrays->ref().nodes + first_node * arena.node_bytes(),
                                arena.node(first_node).bytes,
                                (snapshot_->num_nodes - first_node) * arena.node_bytes(),
                                cudaMemcpyHostToDevice, card.stream().get()));
  });
  return std::make_shared<const LoadedTree>(
      LoadedTree{std::move(arrays), snapshot_->arena, snapshot_->version});
}

// The partitions of a share in spans of as many as there is room for. Nothing if a single partition does not fit.
std::optional<DeviceLoader::Spans> DeviceLoader::spans_that_fit(const LeafShare& share,
                                                                std::uint64_t most_bytes) const {
  const LoadRoom each(table_, snapshot_->leaf_rows, snapshot_->value_bytes());
  const auto [first, end] = share.partitions;
  if (first == end) return Spans();
  Spans spans = {{first, first}};
  std::uint64_t bytes = 0;
  const auto fits = [&](std::uint32_t next) {
    return bytes <= most_bytes && plan_.num_rows({spans.back().first, next}) <= kMaxRowsAtOnce;
  };
  for (std::uint32_t p = first; p < end; ++p) {
    const std::uint64_t more = each.for_table(plan_.num_rows({p, p + 1}), 0);
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

// In each round every device loads a span of its share. The table, if it is not kept, crosses the bus in each of them.
bool DeviceLoader::load_in_rounds() {
  std::vector<FirstRows> first_rows(cards_.size());
  cards_.on_each([&](LoadCard& card, std::size_t i) {
    card.count_rows(cards_.is_alone());
    first_rows[i] = card.first_rows();
  });
  plan_leaves(sum_of(first_rows));
  const std::vector<LeafShare> shares = share_leaves(plan_.partitions, cards_.size());
  std::vector<Spans> spans;
  std::size_t num_rounds = 0;
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    std::optional<Spans> fitting = spans_that_fit(shares[i], room(cards_[i]));
    if (!fitting) return false;
    num_rounds = std::max(num_rounds, fitting->size());
    spans.push_back(*std::move(fitting));
  }
  start_loads(shares);
  for (std::size_t round = 0; round < num_rounds; ++round) {
    SpanOfEach span_of(cards_.size());
    for (std::size_t i = 0; i < cards_.size(); ++i)
      if (round < spans[i].size()) span_of[i] = spans[i][round];
    exchange_rows(span_of, first_rows);
    load_spans(span_of);
  }
  stack_levels(*snapshot_);
  return true;
}

// Brings the rows of its span to each device, in the order of the table. first_rows: of each device's own rows.
void DeviceLoader::exchange_rows(const SpanOfEach& spans, const std::vector<FirstRows>& first_rows) {
  cards_.on_each([&](LoadCard& card, std::size_t i) {
    if (spans[i]) card.make_rows(plan_.num_rows(*spans[i]));
  });
  std::vector<std::uint64_t> next(cards_.size(), 0);  // row of each device
  std::vector<std::vector<GivenRows>> given(cards_.size());
  for (std::size_t from = 0; from < cards_.size(); ++from)
    for (std::size_t to = 0; to < cards_.size(); ++to) {
      if (!spans[to]) continue;
      const LoadCard& card = cards_[to];
      given[from].push_back({*spans[to], {card.rows().ref(), card.device()}, next[to], from == to});
      next[to] += first_rows[from][spans[to]->end] - first_rows[from][spans[to]->first];
    }
  cards_.on_each([&](LoadCard& card, std::size_t i) { card.give_rows(std::move(given[i])); });
}

void DeviceLoader::load_spans(const SpanOfEach& spans) {
  cards_.on_each([&](LoadCard& card, std::size_t i) {
    if (spans[i]) card.load().make(*spans[i], card.rows(), ids_ascend_);
  });
  pages_.wait();
  cards_.on_each([&](LoadCard& card, std::size_t i) {
    if (spans[i]) card.load().download(card.rows());
    card.free_rows();
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
  const std::vector<int> devices = devices_that_build(options);
  for (const int device : devices) cuda::require_device(device);
  const cuda::DeviceScope scope(devices.front());
  return with_threads(options.num_threads, [&]() -> DeviceLoad {
    checked_leaf_rows(options.leaf_rows);
    check_shape(table);
    check_fields(table);
    const bool is_wide = BoundLayout(static_cast<int>(table.columns.size())).is_wide();
    if (table.num_rows > 0 && options.cluster.empty() && !is_wide) {
      if (std::optional<DeviceLoad> loaded = gpu::load(table, options, limits)) {
        write_node_zone_maps(*loaded->snapshot);
        return *std::move(loaded);
      }
    }
    // On the host: a table without rows, clustered, wide (without the subset bounds that are most of a build's work), or
    // with a partition that does not fit into device memory.
    return {bulk_load(table, options), nullptr};
  });
}

}  // namespace culmen
