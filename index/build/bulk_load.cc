#include "index/build/bulk_load.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/floating_point_scope.h"
#include "base/ids.h"
#include "base/pages.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "index/build/cluster_cuts.h"
#include "index/build/filled_table.h"
#include "index/build/keyed_row.h"
#include "index/build/leaf_cut.h"
#include "index/build/load_fields.h"
#include "index/build/load_steps.h"
#include "index/build/partition_plan.h"
#include "index/build/scattered_table.h"
#include "index/columns.h"
#include "index/leaf_bounds.h"
#include "index/leaf_codes.h"
#include "index/leaf_labels.h"
#include "index/node_zone_map.h"
#include "index/table_shape.h"

namespace culmen {
namespace {

constexpr std::uint64_t kChunkRows = 1024;
constexpr std::uint32_t kNoBucket = std::numeric_limits<std::uint32_t>::max();

enum class Arrangement : std::uint8_t { by_key, as_given };

class BulkLoader {
 public:
  // files: for large arrays; null: memory.
  BulkLoader(const TableView& given, const FilledTable& filled, const BuildOptions& options,
             Arrangement order, std::shared_ptr<TemporaryFiles> files)
      : given_(given),
        filled_(filled),
        table_(filled.view()),
        options_(options),
        order_(order),
        files_(std::move(files)),
        keyed_rows_(num_keyed_rows(), num_keyed_rows(), PageSize::huge, files_) {}

  std::shared_ptr<Snapshot> run() {
    start();
    if (order_ == Arrangement::by_key) {
      key_rows();
    } else {
      partition_first_ = {0, table_.num_rows};
    }
    cut_leaves();
    // The system would read ahead megabytes in each array, of pages that nobody has written yet.
    if (files_ != nullptr) snapshot_->arena->expect_scattered_access();
    fill_leaves();
    if (files_ != nullptr) snapshot_->arena->expect_usual_access();
    if (scattered_) scattered_->expect_usual_access();
    load_fields(
        *snapshot_, given_, coded_, filled_.stats().has_gaps,
        [this](std::size_t leaf, std::uint32_t position) { return row_at(leaf_first_[leaf] + position); });
    stack_levels(*snapshot_);
    write_node_zone_maps(*snapshot_);
    copy_labels();
    report("done", 1);
    return std::move(snapshot_);
  }

 private:
  void report(std::string_view phase, double fraction) const {
    if (options_.on_progress) options_.on_progress(phase, fraction);
  }

  // Runs f(first, last) over [0, count) in parallel, slice by slice, and reports progress before each.
  template <typename F>
  void parallel_slices(std::string_view phase, std::uint64_t count, std::uint64_t grain, F&& f) const {
    const std::uint64_t slice = std::max<std::uint64_t>(count / 64, grain * 16);
    for (std::uint64_t first = 0; first < count; first += slice) {
      report(phase, static_cast<double>(first) / static_cast<double>(count));
      tbb::parallel_for(tbb::blocked_range<std::uint64_t>(first, std::min(first + slice, count), grain),
                        [&](const tbb::blocked_range<std::uint64_t>& range) {
                          const FloatingPointScope floating_point;
                          f(range.begin(), range.end());
                        });
    }
  }

  std::int64_t id_of(std::uint64_t row) const {
    return table_.ids.empty() ? static_cast<std::int64_t>(row) : table_.ids[row];
  }
  // Few rows as they come must not take some huge pages.
  PageSize page_size() const {
    constexpr std::uint64_t kManyBytes = 8 << 20;
    const LeafShape shape = snapshot_->leaf_shape();
    const std::uint64_t bytes =
        table_.num_rows * (sizeof(std::int64_t) + shape.num_attributes * shape.value_bytes);
    return order_ == Arrangement::by_key || bytes >= kManyBytes ? PageSize::huge : PageSize::small;
  }
  std::uint64_t num_keyed_rows() const { return order_ == Arrangement::by_key ? given_.num_rows : 0; }
  // The row at a position in the order of the leaves.
  std::uint64_t row_at(std::uint64_t position) const {
    return order_ == Arrangement::by_key ? keyed_rows_[position].row : position;
  }
  std::uint64_t num_slots() const { return static_cast<std::uint64_t>(snapshot_->leaf_rows); }

  void start();
  void key_rows();
  void count_partitions();
  void scatter_rows();
  void sort_rows();
  void cut_leaves();
  void fill_leaves();
  struct Scratch {
    LeafBounds bounds;
    std::vector<std::uint64_t> rows;
    std::vector<float> bound_rows;     // of a leaf
    std::vector<float> node_bounds;    // [num_rows][kFanOut]
    std::vector<std::byte> corners;    // [num_attributes][leaf_rows] values, of which the first two are used
    std::uint32_t bucket = kNoBucket;  // that was read last, of scattered_
  };
  template <typename T>
  void fill_leaf(std::uint32_t leaf, Scratch& scratch);
  template <typename T>
  void bound_by_corners(const T* zone_map, Scratch& scratch) const;
  void copy_labels();

  // Once rows are scattered, those of scattered_.
  TableView given_;
  const FilledTable& filled_;
  TableView table_;  // filled
  const BuildOptions& options_;
  const Arrangement order_;
  const std::shared_ptr<TemporaryFiles> files_;
  std::optional<ScatteredTable> scattered_;
  std::shared_ptr<Snapshot> snapshot_;
  std::vector<CodedColumn> coded_;
  Array<double> cluster_values_;                // [num_rows] if the build is clustered
  PageBuffer<KeyedRow> keyed_rows_;             // [num_rows]; empty if rows stay as given
  std::vector<std::uint64_t> partition_first_;  // [num_partitions + 1] positions in the order of the leaves
  std::vector<LeafHeader> leaves_;
  std::vector<std::uint64_t> leaf_first_;  // position of each leaf's first row
};

// The smallest and the largest of some numbers, none of them NaN. In lanes, which compilers make vectors of.
template <typename T>
std::pair<T, T> extremes_of(std::span<const T> numbers) {
  constexpr std::size_t kLanes = 16;
  std::array<T, kLanes> smallest = {}, largest = {};
  smallest.fill(numbers[0]);
  largest.fill(numbers[0]);
  std::size_t at = 0;
  for (; at + kLanes <= numbers.size(); at += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const T number = numbers[at + lane];
      smallest[lane] = number < smallest[lane] ? number : smallest[lane];
      largest[lane] = number > largest[lane] ? number : largest[lane];
    }
  for (; at < numbers.size(); ++at) {
    smallest[0] = std::min(smallest[0], numbers[at]);
    largest[0] = std::max(largest[0], numbers[at]);
  }
  return {std::ranges::min(smallest), std::ranges::max(largest)};
}

// A table without ids has its row numbers as ids.
std::int64_t largest_id(const TableView& table) {
  return table.ids.empty() ? static_cast<std::int64_t>(table.num_rows) - 1
                           : *std::max_element(table.ids.begin(), table.ids.end());
}

void BulkLoader::start() {
  check_ids_unique(table_.ids, table_.id_type, files_);
  const std::int64_t next_id = table_.num_rows == 0 ? 0 : id_after(largest_id(table_));
  snapshot_ = start_snapshot(filled_, options_, next_id);
  coded_ = code_fields(given_, files_);
  const PartitionPlan plan = plan_partitions(*snapshot_, table_, options_);
  if (plan.cluster) {
    cluster_values_ = read_cut_values(*snapshot_, table_, coded_, *plan.cluster, files_);
    snapshot_->partitioner =
        std::make_shared<const Partitioner>(cut_clusters(*snapshot_, table_, plan, cluster_values_));
  } else {
    snapshot_->partitioner = make_partitioner(*snapshot_, table_, plan, files_);
  }
}

void BulkLoader::key_rows() {
  const std::uint64_t num_chunks = (table_.num_rows + kChunkRows - 1) / kChunkRows;
  parallel_slices("partitioning", num_chunks, 1, [&](std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> rows;
    std::vector<OrderKey> keys;
    for (std::uint64_t chunk = first; chunk < last; ++chunk) {
      const std::uint64_t first_row = chunk * kChunkRows;
      rows.resize(std::min(kChunkRows, table_.num_rows - first_row));
      keys.resize(rows.size());
      std::iota(rows.begin(), rows.end(), first_row);
      std::span<const double> clusters = cluster_values_;
      if (!clusters.empty()) clusters = clusters.subspan(first_row, rows.size());
      snapshot_->partitioner->keys(read_rows(table_, snapshot_->value_type, rows), first_row, table_.num_rows,
                                   keys, clusters);
      for (std::size_t r = 0; r < rows.size(); ++r) keyed_rows_[first_row + r] = {keys[r], rows[r]};
    }
  });
  count_partitions();
  if (files_ != nullptr && table_.num_rows > 0) scatter_rows();
  sort_rows();
}

void BulkLoader::count_partitions() {
  partition_first_.assign(snapshot_->partitioner->num_partitions() + std::size_t{1}, 0);
  for (const KeyedRow& row : keyed_rows_.span()) ++partition_first_[partition_of(row.key) + std::size_t{1}];
  std::partial_sum(partition_first_.begin(), partition_first_.end(), partition_first_.begin());
}

// From here on rows are read in about their order.
void BulkLoader::scatter_rows() {
  report("scattering", 0);
  cluster_values_ = {};
  const std::uint64_t row_bytes = sizeof(double) * (given_.columns.size() + given_.fields.size() + 1);
  Buckets buckets = make_buckets(snapshot_->partitioner->order(), partition_first_, row_bytes);
  scattered_.emplace(given_, table_, coded_, keyed_rows_.span(), std::move(buckets), files_);
  given_ = scattered_->given();
  table_ = scattered_->filled();
  coded_ = scattered_->take_coded();
  keyed_rows_ = scattered_->take_keys();
}

// Distributes rows to partitions, then sorts each partition, which fits into the cache.
void BulkLoader::sort_rows() {
  report("sorting", 0);
  std::vector<std::uint64_t> next(partition_first_.begin(), partition_first_.end() - 1);
  PageBuffer<KeyedRow> sorted(keyed_rows_.size(), keyed_rows_.size(), PageSize::huge, files_);
  for (const KeyedRow& row : keyed_rows_.span()) sorted[next[partition_of(row.key)]++] = row;
  keyed_rows_ = std::move(sorted);
  const auto comes_before = [this](const KeyedRow& a, const KeyedRow& b) {
    return a.key != b.key ? a.key < b.key : id_of(a.row) < id_of(b.row);
  };
  tbb::parallel_for(std::size_t{0}, next.size(), [&](std::size_t p) {
    KeyedRow* const rows = keyed_rows_.data();
    tbb::parallel_sort(rows + partition_first_[p], rows + partition_first_[p + 1], comes_before);
  });
}

void BulkLoader::cut_leaves() {
  for (const std::uint32_t p : snapshot_->partitioner->order()) {
    const std::uint64_t num_rows = partition_first_[p + std::size_t{1}] - partition_first_[p];
    const std::uint64_t num_leaves =
        num_leaves_for(num_rows, static_cast<std::uint64_t>(snapshot_->leaf_rows));
    for (std::uint64_t leaf = 0; leaf < num_leaves; ++leaf) {
      const std::uint64_t start = first_row_of_leaf(num_rows, leaf, num_leaves);
      const std::uint64_t end = first_row_of_leaf(num_rows, leaf + 1, num_leaves);
      leaf_first_.push_back(partition_first_[p] + start);
      leaves_.push_back({static_cast<std::uint32_t>(end - start), p, kNoId, 0});
    }
  }
  // Rows as they are given are not changed: where they are says nothing.
  const ArenaRoom room = order_ == Arrangement::by_key ? ArenaRoom::to_grow : ArenaRoom::none;
  allocate_tree(*snapshot_, leaves_.size(), page_size(), files_, room);
}

// By the two corners of the box around the leaf's rows: no sum of a row is outside those of the corners.
template <typename T>
void BulkLoader::bound_by_corners(const T* zone_map, Scratch& scratch) const {
  const auto d = static_cast<std::size_t>(snapshot_->num_attributes());
  T* corners = reinterpret_cast<T*>(scratch.corners.data());
  for (std::size_t i = 0; i < d; ++i)
    for (const Extreme extreme : {Extreme::maximum, Extreme::minimum}) {
      const auto which = static_cast<std::size_t>(extreme);
      corners[i * num_slots() + which] = zone_map[which * d + i];
    }
  scratch.bounds.compute(corners, static_cast<int>(kZoneVectors), scratch.bound_rows);
}

template <typename T>
void BulkLoader::fill_leaf(std::uint32_t leaf, Scratch& scratch) {
  Snapshot& s = *snapshot_;
  LeafHeader& header = s.arena->leaf(leaf);
  std::vector<std::uint64_t>& rows = scratch.rows;
  rows.resize(header.num_rows);
  std::int64_t* ids = s.arena->ids(leaf);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    rows[r] = row_at(leaf_first_[leaf] + r);
    ids[r] = id_of(rows[r]);
  }
  header.min_id = *std::min_element(ids, ids + rows.size());
  const auto d = static_cast<std::size_t>(s.num_attributes());
  T* values = reinterpret_cast<T*>(s.arena->values(leaf));
  T* zone_map = reinterpret_cast<T*>(s.arena->zone_map(leaf));
  for (std::size_t i = 0; i < d; ++i) {
    T* column = values + i * num_slots();
    gather_column(table_.columns[i], table_.attributes[i].preference, rows, column);
    const auto [smallest, largest] = extremes_of(std::span<const T>(column, rows.size()));
    zone_map[static_cast<std::size_t>(Extreme::maximum) * d + i] = largest;
    zone_map[static_cast<std::size_t>(Extreme::minimum) * d + i] = smallest;
  }
  write_leaf_codes(*s.arena, leaf, header.num_rows);
  if (order_ == Arrangement::as_given) return bound_by_corners(zone_map, scratch);
  scratch.bounds.compute(values, static_cast<int>(header.num_rows), scratch.bound_rows);
}

void BulkLoader::fill_leaves() {
  Snapshot& s = *snapshot_;
  const std::size_t num_leaves = leaves_.size();
  for (std::size_t leaf = 0; leaf < num_leaves; ++leaf) s.arena->leaf(leaf) = leaves_[leaf];
  tbb::enumerable_thread_specific<Scratch> scratch([&s] {
    return Scratch{LeafBounds(s.layout, s.units, s.exact_sums, s.leaf_rows),
                   {},
                   std::vector<float>(static_cast<std::size_t>(s.layout.num_rows())),
                   std::vector<float>(static_cast<std::size_t>(s.layout.num_rows()) * kFanOut),
                   std::vector<std::byte>(s.leaf_shape().leaf_bytes()),
                   kNoBucket};
  });
  // A task fills whole level-1 nodes, so no two tasks write to one node.
  parallel_slices(
      "bounding", (num_leaves + kFanOut - 1) / kFanOut, 1, [&](std::uint64_t first, std::uint64_t last) {
        Scratch& mine = scratch.local();
        for (std::uint64_t n = first; n < last; ++n) {
          const NodeAccess<std::byte> node = s.arena->mutable_node(n);
          NodeHeader& header = node.header();
          if (scattered_) scattered_->will_read_partition(leaves_[n * kFanOut].partition, mine.bucket);
          header.level = 1;
          header.min_id = kNoId;
          header.num_children =
              static_cast<std::uint32_t>(std::min<std::uint64_t>(kFanOut, num_leaves - n * kFanOut));
          for (std::uint32_t c = 0; c < header.num_children; ++c) {
            const auto leaf = static_cast<std::uint32_t>(n * kFanOut + c);
            visit_value_type(s, [&]<typename T>(T) { fill_leaf<T>(leaf, mine); });
            node.children()[c] = leaf;
            node.min_ids()[c] = s.leaf(leaf).min_id;
            header.min_id = std::min(header.min_id, s.leaf(leaf).min_id);
            for (std::size_t row = 0; row < mine.bound_rows.size(); ++row)
              mine.node_bounds[row * kFanOut + c] = mine.bound_rows[row];
          }
          encode_bounds(s.layout, mine.node_bounds, header.num_children, node.bounds());
        }
      });
}

void BulkLoader::copy_labels() {
  if (!snapshot_->has_labels) return;
  Snapshot& s = *snapshot_;
  tbb::parallel_for(std::size_t{0}, leaves_.size(), [&](std::size_t leaf) {
    const auto label = [&](std::uint64_t r) { return table_.labels[row_at(leaf_first_[leaf] + r)]; };
    const auto refuse = [&](std::size_t r, const std::string& problem) {
      throw RowError(row_at(leaf_first_[leaf] + r), problem);
    };
    write_labels(*s.arena, leaf, leaves_[leaf].num_rows, label, refuse);
  });
}

std::shared_ptr<Snapshot> load(const TableView& table, const BuildOptions& options, Arrangement order) {
  return with_threads(options.num_threads, [&] {
    if (options.on_progress) options.on_progress("reading", 0);
    checked_leaf_rows(options.leaf_rows);  // fails before the table is read
    const std::shared_ptr<TemporaryFiles> files = temporary_files(options.temp_directory);
    const FilledTable filled(table, table_stats(table, options.value_type), options.stand_ins, files);
    return BulkLoader(table, filled, options, order, files).run();
  });
}

}  // namespace

std::shared_ptr<Snapshot> bulk_load(const TableView& table, const BuildOptions& options) {
  return load(table, options, Arrangement::by_key);
}

std::shared_ptr<Snapshot> load_as_given(const TableView& table, const BuildOptions& options) {
  BuildOptions in_one = options;
  in_one.partitioning = Partitioning::random;
  in_one.num_partitions = 1;
  in_one.cluster.clear();
  return load(table, in_one, Arrangement::as_given);
}

}  // namespace culmen
