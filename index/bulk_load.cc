#include "index/bulk_load.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "culmen/error.h"
#include "index/block_bounds.h"
#include "index/columns.h"
#include "index/floating_point_scope.h"
#include "index/leaf_labels.h"
#include "index/with_threads.h"

namespace culmen {
namespace {

// As small as the subset maxima of 8 attributes and partly filled leaves allow within a quarter of the data.
constexpr int kDefaultBlockRows = 96;
constexpr std::uint64_t kSampleRows = 1 << 16;
constexpr std::uint64_t kSampleRowsPerPartition = 32;
constexpr std::uint64_t kChunkRows = 1024;

// One row of the table and where it goes.
struct Placement {
  OrderKey key;
  std::uint64_t row;
};

class BulkLoader {
 public:
  BulkLoader(const TableView& table, const BuildOptions& options)
      : table_(table), options_(options), snapshot_(std::make_shared<Snapshot>()) {}

  std::shared_ptr<Snapshot> run() {
    survey();
    choose_partitions();
    place_rows();
    cut_leaves();
    fill_leaves();
    write_thresholds();
    stack_levels();
    copy_labels();
    report("done", 1);
    return std::move(snapshot_);
  }

 private:
  void report(std::string_view phase, double fraction) const {
    if (options_.on_progress) options_.on_progress(phase, fraction);
  }

  // Runs f(first, last) over [0, count) in parallel, in a few slices with a report before each.
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
  std::uint64_t num_slots() const { return static_cast<std::uint64_t>(snapshot_->block_rows); }

  void survey();
  void choose_partitions();
  TupleChunk read_chunk(std::span<const std::uint64_t> rows) const;
  void place_rows();
  void sort_placements();
  void cut_leaves();
  void fill_leaves();
  template <typename T>
  void fill_leaf(std::uint32_t leaf, BlockBounds& bounds, std::vector<std::uint64_t>& rows,
                 std::span<Half> bound_rows);
  template <typename T>
  void write_thresholds_of(const PartitionRange& partition);
  void write_thresholds();
  void stack_levels();
  void copy_labels();

  const TableView& table_;
  const BuildOptions& options_;
  std::shared_ptr<Snapshot> snapshot_;
  std::vector<Placement> placements_;
  std::vector<std::uint64_t> partition_first_;  // [num_partitions + 1] position in placements_
  std::vector<LeafHeader> leaves_;
  std::vector<std::uint64_t> leaf_first_;   // position in placements_ of each leaf's first row
  std::vector<PartitionRange> partitions_;  // in leaves_
};

// The smallest id above those of the table; without ids the row numbers are the ids.
std::int64_t id_after(const TableView& table) {
  if (table.num_rows == 0) return 0;
  if (table.ids.empty()) return static_cast<std::int64_t>(table.num_rows);
  const std::int64_t largest = *std::max_element(table.ids.begin(), table.ids.end());
  return largest == std::numeric_limits<std::int64_t>::max() ? largest : largest + 1;
}

int checked_block_rows(int wanted) {
  if (wanted == 0) return kDefaultBlockRows;
  if (wanted < 16 || wanted > kMaxBlockRows || wanted % 16 != 0)
    throw InvalidArgument("block_rows is " + std::to_string(wanted) +
                          "; it must be a multiple of 16 from 16 to " + std::to_string(kMaxBlockRows));
  return wanted;
}

void BulkLoader::survey() {
  report("reading", 0);
  snapshot_->block_rows = checked_block_rows(options_.block_rows);
  ColumnSurvey survey = survey_columns(table_, options_.value_type);
  check_ids_unique(table_.ids);
  snapshot_->attributes = table_.attributes;
  snapshot_->value_type = survey.value_type;
  snapshot_->rounded_values = survey.rounded_values;
  snapshot_->stats = std::move(survey.stats);
  snapshot_->num_tuples = table_.num_rows;
  snapshot_->next_id = id_after(table_);
  snapshot_->has_labels = !table_.labels.empty();
  snapshot_->layout = BoundLayout(snapshot_->num_attributes());
  for (const AttributeStats& stats : snapshot_->stats) snapshot_->units.push_back(bound_unit(stats));
  snapshot_->exact_sums = sums_are_exact(snapshot_->stats, snapshot_->units);
}

// About how many leaves a partition gets at least by default. Fewer make leaves more compact, but the last
// one of each partition is half empty, and bounds and empty slots are to stay within a quarter of the data.
constexpr std::uint64_t kLeavesPerPartition = 10;

void BulkLoader::choose_partitions() {
  const int d = snapshot_->num_attributes();
  if (options_.num_splits < 0 || options_.num_partitions < 0)
    throw InvalidArgument("num_splits and num_partitions must not be negative");
  if (static_cast<std::uint32_t>(options_.num_partitions) > kMaxPartitions)
    throw InvalidArgument("at most " + std::to_string(kMaxPartitions) + " partitions");
  const std::uint64_t leaves = table_.num_rows / num_slots();
  auto partitions = static_cast<std::uint32_t>(options_.num_partitions);
  if (partitions == 0)
    partitions = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(leaves / kLeavesPerPartition, 1, kMaxPartitions));
  if (options_.partitioning == Partitioning::random) {
    if (options_.num_splits != 0) throw InvalidArgument("num_splits goes with angle partitions only");
    snapshot_->partitioner =
        std::make_shared<const Partitioner>(Partitioner::random(snapshot_->stats, partitions));
    return;
  }
  std::vector<std::int32_t> splits = choose_splits(d, partitions);
  if (options_.num_splits > 0) {
    if (std::pow(options_.num_splits, d - 1) > kMaxPartitions)
      throw InvalidArgument(std::to_string(options_.num_splits) + " splits of " + std::to_string(d - 1) +
                            " angles make more than " + std::to_string(kMaxPartitions) +
                            " partitions; use num_partitions");
    splits.assign(options_.num_splits > 1 ? static_cast<std::size_t>(d) : 0, options_.num_splits);
    if (!splits.empty()) splits[0] = 1;  // the paper's grid of angles: no shells
  }
  std::vector<std::uint64_t> rows(
      std::min(table_.num_rows, std::max(kSampleRows, kSampleRowsPerPartition * partitions)));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<std::uint64_t>(static_cast<unsigned __int128>(i) * table_.num_rows / rows.size());
  snapshot_->partitioner = std::make_shared<const Partitioner>(
      Partitioner::angle(snapshot_->stats, std::move(splits), read_chunk(rows)));
}

TupleChunk BulkLoader::read_chunk(std::span<const std::uint64_t> rows) const {
  TupleChunk chunk(static_cast<Eigen::Index>(rows.size()), snapshot_->num_attributes());
  std::vector<float> rounded(rows.size());
  for (std::size_t i = 0; i < table_.columns.size(); ++i) {
    const Preference preference = table_.attributes[i].preference;
    auto column = chunk.col(static_cast<Eigen::Index>(i));
    if (snapshot_->value_type == ValueType::float64) {
      gather_column(table_.columns[i], preference, rows, column.data());
    } else {
      gather_column(table_.columns[i], preference, rows, rounded.data());
      std::copy(rounded.begin(), rounded.end(), column.data());
    }
  }
  return chunk;
}

void BulkLoader::place_rows() {
  placements_.resize(table_.num_rows);
  const std::uint64_t num_chunks = (table_.num_rows + kChunkRows - 1) / kChunkRows;
  parallel_slices("partitioning", num_chunks, 1, [&](std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> rows;
    std::vector<OrderKey> keys;
    for (std::uint64_t chunk = first; chunk < last; ++chunk) {
      const std::uint64_t first_row = chunk * kChunkRows;
      rows.resize(std::min(kChunkRows, table_.num_rows - first_row));
      keys.resize(rows.size());
      std::iota(rows.begin(), rows.end(), first_row);
      snapshot_->partitioner->keys(read_chunk(rows), first_row, table_.num_rows, keys);
      for (std::size_t r = 0; r < rows.size(); ++r) placements_[first_row + r] = {keys[r], rows[r]};
    }
  });
  sort_placements();
}

// By partition first, in two passes over the table, then each partition by itself, which fits into the cache.
void BulkLoader::sort_placements() {
  report("sorting", 0);
  partition_first_.assign(snapshot_->partitioner->num_partitions() + std::size_t{1}, 0);
  for (const Placement& placement : placements_)
    ++partition_first_[partition_of(placement.key) + std::size_t{1}];
  std::partial_sum(partition_first_.begin(), partition_first_.end(), partition_first_.begin());
  std::vector<std::uint64_t> next(partition_first_.begin(), partition_first_.end() - 1);
  std::vector<Placement> sorted(placements_.size());
  for (const Placement& placement : placements_) sorted[next[partition_of(placement.key)]++] = placement;
  placements_ = std::move(sorted);
  const auto comes_before = [this](const Placement& a, const Placement& b) {
    return a.key != b.key ? a.key < b.key : id_of(a.row) < id_of(b.row);
  };
  tbb::parallel_for(std::size_t{0}, next.size(), [&](std::size_t p) {
    const auto begin = placements_.begin();
    tbb::parallel_sort(begin + static_cast<std::ptrdiff_t>(partition_first_[p]),
                       begin + static_cast<std::ptrdiff_t>(partition_first_[p + 1]), comes_before);
  });
}

// As few leaves as hold the rows, all alike full: each has some room for rows to come.
void BulkLoader::cut_leaves() {
  partitions_.resize(snapshot_->partitioner->num_partitions());
  for (std::uint32_t p = 0; p < partitions_.size(); ++p) {
    PartitionRange& range = partitions_[p];
    range.first_leaf = static_cast<std::uint32_t>(leaves_.size());
    const std::uint64_t first = partition_first_[p];
    const std::uint64_t num_rows = partition_first_[p + std::size_t{1}] - first;
    const std::uint64_t num_leaves = (num_rows + num_slots() - 1) / num_slots();
    for (std::uint64_t leaf = 0; leaf < num_leaves; ++leaf) {
      const std::uint64_t start = num_rows * leaf / num_leaves, end = num_rows * (leaf + 1) / num_leaves;
      leaf_first_.push_back(first + start);
      leaves_.push_back({static_cast<std::uint32_t>(end - start), p, kNoId, kNoId});
    }
    range.num_leaves = static_cast<std::uint32_t>(leaves_.size()) - range.first_leaf;
  }
}

template <typename T>
void BulkLoader::fill_leaf(std::uint32_t leaf, BlockBounds& bounds, std::vector<std::uint64_t>& rows,
                           std::span<Half> bound_rows) {
  Snapshot& s = *snapshot_;
  LeafHeader& header = s.blocks->leaf(leaf);
  rows.resize(header.num_rows);
  std::int64_t* ids = s.blocks->ids(leaf);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    rows[r] = placements_[leaf_first_[leaf] + r].row;
    ids[r] = id_of(rows[r]);
  }
  header.min_id = *std::min_element(ids, ids + rows.size());
  const auto d = static_cast<std::size_t>(s.num_attributes());
  T* values = reinterpret_cast<T*>(s.blocks->values(leaf));
  T* corners = reinterpret_cast<T*>(s.blocks->corners(leaf));
  for (std::size_t i = 0; i < d; ++i) {
    T* column = values + i * num_slots();
    gather_column(table_.columns[i], table_.attributes[i].preference, rows, column);
    const auto [smallest, largest] = std::minmax_element(column, column + rows.size());
    corners[static_cast<std::size_t>(Corner::maximum) * d + i] = *largest;
    corners[static_cast<std::size_t>(Corner::minimum) * d + i] = *smallest;
  }
  bounds.compute(values, static_cast<int>(header.num_rows), bound_rows);
}

void BulkLoader::fill_leaves() {
  Snapshot& s = *snapshot_;
  const std::size_t num_leaves = leaves_.size();
  for (std::size_t width = num_leaves; width > 0; width = width == 1 ? 0 : width) {
    width = (width + kFanOut - 1) / kFanOut;
    s.num_nodes += width;
    ++s.height;
  }
  s.num_leaves = s.leaf_slots = num_leaves;
  s.node_slots = s.num_nodes;
  if (s.height > 0) s.root = static_cast<std::uint32_t>(s.num_nodes - 1);
  s.blocks = std::make_shared<Blocks>(s.block_shape(), s.layout, num_leaves, s.num_nodes);
  for (std::size_t leaf = 0; leaf < num_leaves; ++leaf) s.blocks->leaf(leaf) = leaves_[leaf];
  struct Scratch {
    BlockBounds bounds;
    std::vector<std::uint64_t> rows;
    std::vector<Half> bound_rows;
  };
  tbb::enumerable_thread_specific<Scratch> scratch([&s] {
    return Scratch{BlockBounds(s.layout, s.units, s.exact_sums, s.block_rows),
                   {},
                   std::vector<Half>(static_cast<std::size_t>(s.layout.num_rows()))};
  });
  // One task fills whole level-1 nodes, so no two tasks write to one node.
  parallel_slices(
      "bounding", (num_leaves + kFanOut - 1) / kFanOut, 1, [&](std::uint64_t first, std::uint64_t last) {
        Scratch& mine = scratch.local();
        for (std::uint64_t n = first; n < last; ++n) {
          const NodeAccess<std::byte> node = s.blocks->mutable_node(n);
          NodeHeader& header = node.header();
          header.level = 1;
          header.min_id = kNoId;  // fresh memory is zero
          header.num_children =
              static_cast<std::uint32_t>(std::min<std::uint64_t>(kFanOut, num_leaves - n * kFanOut));
          for (std::uint32_t c = 0; c < header.num_children; ++c) {
            const auto leaf = static_cast<std::uint32_t>(n * kFanOut + c);
            visit_value_type(
                s, [&]<typename T>(T) { fill_leaf<T>(leaf, mine.bounds, mine.rows, mine.bound_rows); });
            node.children()[c] = leaf;
            node.min_ids()[c] = s.leaf(leaf).min_id;
            header.min_id = std::min(header.min_id, s.leaf(leaf).min_id);
            for (std::size_t row = 0; row < mine.bound_rows.size(); ++row)
              node.bounds()[row * kFanOut + c] = mine.bound_rows[row];
          }
        }
      });
}

// Equation 3 of the paper, last leaf first: the corner of all later leaves.
template <typename T>
void BulkLoader::write_thresholds_of(const PartitionRange& partition) {
  Snapshot& s = *snapshot_;
  const auto d = static_cast<std::size_t>(s.num_attributes());
  std::vector<T> highest(d, -std::numeric_limits<T>::infinity()),
      lowest(d, std::numeric_limits<T>::infinity());
  std::int64_t min_id = kNoId;
  for (std::uint32_t leaf = partition.first_leaf + partition.num_leaves; leaf-- > partition.first_leaf;) {
    T* corners = reinterpret_cast<T*>(s.blocks->corners(leaf));
    std::copy(highest.begin(), highest.end(), corners + static_cast<std::size_t>(Corner::later_maximum) * d);
    std::copy(lowest.begin(), lowest.end(), corners + static_cast<std::size_t>(Corner::later_minimum) * d);
    s.blocks->leaf(leaf).later_min_id = min_id;
    min_id = std::min(min_id, s.leaf(leaf).min_id);
    for (std::size_t i = 0; i < d; ++i) {
      highest[i] = std::max(highest[i], corners[static_cast<std::size_t>(Corner::maximum) * d + i]);
      lowest[i] = std::min(lowest[i], corners[static_cast<std::size_t>(Corner::minimum) * d + i]);
    }
  }
}

void BulkLoader::write_thresholds() {
  tbb::parallel_for(std::size_t{0}, partitions_.size(), [this](std::size_t p) {
    visit_value_type(*snapshot_, [&]<typename T>(T) { write_thresholds_of<T>(partitions_[p]); });
  });
}

void BulkLoader::stack_levels() {
  Snapshot& s = *snapshot_;
  std::size_t first_below = 0;
  std::size_t width_below = (leaves_.size() + kFanOut - 1) / kFanOut;
  for (std::uint32_t level = 2; width_below > 1; ++level) {
    const std::size_t width = (width_below + kFanOut - 1) / kFanOut;
    const std::size_t first = first_below + width_below;
    tbb::parallel_for(std::size_t{0}, width, [&](std::size_t n) {
      std::vector<Half> rows(static_cast<std::size_t>(s.layout.num_rows()));
      const NodeAccess<std::byte> node = s.blocks->mutable_node(first + n);
      NodeHeader& header = node.header();
      header.level = level;
      header.min_id = kNoId;
      header.num_children =
          static_cast<std::uint32_t>(std::min<std::size_t>(kFanOut, width_below - n * kFanOut));
      for (std::uint32_t c = 0; c < header.num_children; ++c) {
        const auto child = static_cast<std::uint32_t>(first_below + n * kFanOut + c);
        const NodeRef below = s.node(child);
        aggregate_bounds(s.layout, below.bounds(), static_cast<int>(below.header().num_children), rows);
        node.children()[c] = child;
        node.min_ids()[c] = below.header().min_id;
        header.min_id = std::min(header.min_id, below.header().min_id);
        for (std::size_t row = 0; row < rows.size(); ++row) node.bounds()[row * kFanOut + c] = rows[row];
      }
    });
    first_below = first;
    width_below = width;
  }
}

void BulkLoader::copy_labels() {
  if (!snapshot_->has_labels) return;
  Snapshot& s = *snapshot_;
  tbb::parallel_for(std::size_t{0}, leaves_.size(), [&](std::size_t leaf) {
    const auto label = [&](std::uint64_t r) { return table_.labels[placements_[leaf_first_[leaf] + r].row]; };
    write_labels(*s.blocks, leaf, leaves_[leaf].num_rows, label);
  });
}

}  // namespace

std::shared_ptr<Snapshot> bulk_load(const TableView& table, const BuildOptions& options) {
  return with_threads(options.num_threads, [&] { return BulkLoader(table, options).run(); });
}

}  // namespace culmen
