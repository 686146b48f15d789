#include "index/build/load_steps.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/assert.h"
#include "culmen/error.h"
#include "index/build/leaf_cut.h"
#include "index/build/sample.h"
#include "index/leaf_bounds.h"
#include "index/node_zone_map.h"

namespace culmen {
namespace {

// As small as the subset maxima of 8 attributes and partly filled leaves allow within a quarter of the data.
constexpr int kDefaultLeafRows = 96;
constexpr std::uint64_t kSampleRows = 1 << 16;
constexpr std::uint64_t kSampleRowsPerPartition = 32;

// About how many leaves a partition gets at least by default. Fewer make leaves more compact, but the last
// one of each partition is half empty, and bounds and empty room are to stay within a quarter of the data.
constexpr std::uint64_t kLeavesPerPartition = 10;

std::uint32_t wanted_partitions(const Snapshot& snapshot, const BuildOptions& options) {
  if (options.num_splits < 0 || options.num_partitions < 0)
    throw InvalidArgument("num_splits and num_partitions must not be negative");
  if (static_cast<std::uint32_t>(options.num_partitions) > kMaxPartitions)
    throw InvalidArgument("at most " + std::to_string(kMaxPartitions) + " partitions");
  if (options.num_partitions > 0) return static_cast<std::uint32_t>(options.num_partitions);
  const std::uint64_t leaves = snapshot.num_rows / static_cast<std::uint64_t>(snapshot.leaf_rows);
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(leaves / kLeavesPerPartition, 1, kMaxPartitions));
}

// Of more attributes than a group has, halves by single ones leave more to read (docs/decisions/0020-kd-partitions.md).
Partitioning kind_of(const BuildOptions& options, int num_attributes) {
  if (options.partitioning != Partitioning::automatic) return options.partitioning;
  return options.num_splits > 0 || num_attributes > kMaxGroupSize ? Partitioning::angle : Partitioning::kd;
}

std::vector<std::int32_t> wanted_splits(Partitioning kind, int num_attributes, std::uint32_t num_partitions,
                                        int num_splits) {
  if (num_splits == 0) return choose_splits(kind, num_attributes, num_partitions);
  if (std::pow(num_splits, num_attributes - 1) > kMaxPartitions)
    throw InvalidArgument(std::to_string(num_splits) + " splits of " + std::to_string(num_attributes - 1) +
                          " angles make more than " + std::to_string(kMaxPartitions) +
                          " partitions; use num_partitions");
  if (num_splits == 1) return {};
  std::vector<std::int32_t> splits(static_cast<std::size_t>(num_attributes), num_splits);
  splits[0] = 1;  // the paper's grid of angles: no shells
  return splits;
}

constexpr std::uint64_t kRangeSampleRows = 4096;
constexpr std::uint64_t kRangeTailRows = 64;  // of the sample, at either end
constexpr std::uint64_t kRangeTailStep = 16;

// How many spreads of the middle a table of so many rows may reach beyond it, if its tail goes on as that of the sample
// does: by `growth` from row kRangeTailRows to kRangeTailRows / kRangeTailStep, counted from the best. A power of two.
double widest_tail(double growth, std::uint64_t num_rows) {
  double widest = growth;
  constexpr std::uint64_t kSteps = kRangeSampleRows / kRangeTailRows * kRangeTailStep;
  for (std::uint64_t rows = kSteps; rows < num_rows && widest < 0x1p60; rows *= kRangeTailStep)
    widest *= growth;
  return std::exp2(std::ceil(std::log2(widest)));
}

// Cuts off what lies farther out than a tail like the sample's would reach. The ends are multiples of whatever all values
// are multiples of: the lower one becomes an origin.
void narrow(std::span<double> sample, std::uint64_t num_rows, AttributeStats& range) {
  std::sort(sample.begin(), sample.end());
  const std::size_t tail = sample.size() * kRangeTailRows / kRangeSampleRows;
  const auto from_below = [&](std::size_t rank) { return sample[rank]; };
  const auto from_above = [&](std::size_t rank) { return sample[sample.size() - 1 - rank]; };
  const double low = from_below(tail), high = from_above(tail), spread = high - low;
  if (!(spread > 0)) return;
  const auto reach = [&](double distance) { return spread * widest_tail(distance / spread, num_rows); };
  range.minimum = std::max(range.minimum, high - reach(high - from_below(tail / kRangeTailStep)));
  range.maximum = std::min(range.maximum, low + reach(from_above(tail / kRangeTailStep) - low));
}

}  // namespace

int checked_leaf_rows(int wanted) {
  if (wanted == 0) return kDefaultLeafRows;
  if (wanted < 16 || wanted > kMaxLeafRows || wanted % 16 != 0)
    throw InvalidArgument("leaf_rows is " + std::to_string(wanted) +
                          "; it must be a multiple of 16 from 16 to " + std::to_string(kMaxLeafRows));
  return wanted;
}

std::shared_ptr<Snapshot> start_snapshot(const TableView& table, const BuildOptions& options,
                                         TableStats stats, std::int64_t next_id) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->leaf_rows = checked_leaf_rows(options.leaf_rows);
  snapshot->attributes = table.attributes;
  snapshot->value_type = stats.value_type;
  snapshot->rounded_values = stats.rounded_values;
  snapshot->stats = std::move(stats.attributes);
  snapshot->num_rows = table.num_rows;
  snapshot->next_id = next_id;
  snapshot->has_labels = !table.labels.empty();
  snapshot->layout = BoundLayout(snapshot->num_attributes());
  for (const AttributeStats& range : usual_ranges(*snapshot, table))
    snapshot->units.push_back(bound_unit(range));
  snapshot->exact_sums = sums_are_exact(snapshot->stats, snapshot->units);
  return snapshot;
}

RowChunk read_rows(const Snapshot& snapshot, const TableView& table, std::span<const std::uint64_t> rows) {
  RowChunk chunk(rows.size(), table.columns.size());
  std::vector<float> rounded(rows.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Preference preference = table.attributes[i].preference;
    const std::span<double> column = chunk.attribute(i);
    if (snapshot.value_type == ValueType::float64) {
      gather_column(table.columns[i], preference, rows, column.data());
    } else {
      gather_column(table.columns[i], preference, rows, rounded.data());
      std::ranges::copy(rounded, column.begin());
    }
  }
  return chunk;
}

std::vector<AttributeStats> usual_ranges(const Snapshot& snapshot, const TableView& table) {
  std::vector<AttributeStats> ranges = snapshot.stats;
  std::vector<std::uint64_t> rows(std::min(kRangeSampleRows, table.num_rows));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = row_of_sample(i, rows.size(), table.num_rows);
  if (rows.empty()) return ranges;
  RowChunk sample = read_rows(snapshot, table, rows);
  for (std::size_t i = 0; i < ranges.size(); ++i) narrow(sample.attribute(i), table.num_rows, ranges[i]);
  return ranges;
}

PartitionPlan plan_partitions(const Snapshot& snapshot, const TableView& table, const BuildOptions& options) {
  const std::uint32_t partitions = wanted_partitions(snapshot, options);
  const Partitioning kind = kind_of(options, snapshot.num_attributes());
  if (kind != Partitioning::angle && options.num_splits != 0)
    throw InvalidArgument("num_splits goes with angle partitions only");
  if (kind == Partitioning::random) return {kind, usual_ranges(snapshot, table), partitions, {}, 0};
  return {kind, usual_ranges(snapshot, table), partitions,
          wanted_splits(kind, snapshot.num_attributes(), partitions, options.num_splits),
          std::min(snapshot.num_rows, std::max(kSampleRows, kSampleRowsPerPartition * partitions))};
}

std::shared_ptr<const Partitioner> make_partitioner(const Snapshot& snapshot, const TableView& table,
                                                    PartitionPlan plan) {
  if (plan.kind == Partitioning::random)
    return std::make_shared<const Partitioner>(Partitioner::random(plan.ranges, plan.num_partitions));
  std::vector<std::uint64_t> rows(plan.sample_rows);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = row_of_sample(i, plan.sample_rows, table.num_rows);
  return std::make_shared<const Partitioner>(Partitioner::from_sample(
      plan.kind, plan.ranges, std::move(plan.splits), read_rows(snapshot, table, rows)));
}

std::vector<PartitionRange> cut_partitions(std::span<const std::uint64_t> first_rows, int leaf_rows) {
  std::vector<PartitionRange> partitions(first_rows.size() - 1);
  std::uint32_t first_leaf = 0;
  for (std::size_t p = 0; p < partitions.size(); ++p) {
    const std::uint64_t num_rows = first_rows[p + 1] - first_rows[p];
    const auto num_leaves =
        static_cast<std::uint32_t>(num_leaves_for(num_rows, static_cast<std::uint64_t>(leaf_rows)));
    partitions[p] = {first_leaf, num_leaves};
    first_leaf += num_leaves;
  }
  return partitions;
}

void allocate_tree(Snapshot& s, std::size_t num_leaves) {
  s.num_nodes = 0;
  s.height = 0;
  for (std::size_t width = num_leaves; width > 0; width = width == 1 ? 0 : width) {
    width = (width + kFanOut - 1) / kFanOut;
    s.num_nodes += width;
    ++s.height;
  }
  s.num_leaves = s.leaf_slots = num_leaves;
  s.node_slots = s.num_nodes;
  if (s.height > 0) s.root = static_cast<std::uint32_t>(s.num_nodes - 1);
  // Nearly full, it would have no room for changes.
  constexpr std::size_t kRoom = 2;
  if (s.arena != nullptr && s.arena->leaf_capacity() >= kRoom * num_leaves &&
      s.arena->node_capacity() >= kRoom * s.num_nodes) {
    CULMEN_ASSERT(s.arena->leaf_slots() <= num_leaves && s.arena->node_slots() <= s.num_nodes);
    s.arena->grow_leaves(num_leaves);
    s.arena->grow_nodes(s.num_nodes);
  } else {
    s.arena = std::make_shared<SlotArena>(s.leaf_shape(), s.layout, num_leaves, s.num_nodes);
  }
}

void stack_levels(Snapshot& s) {
  std::size_t first_below = 0;
  std::size_t width_below = (s.num_leaves + kFanOut - 1) / kFanOut;
  for (std::uint32_t level = 2; width_below > 1; ++level) {
    const std::size_t width = (width_below + kFanOut - 1) / kFanOut;
    const std::size_t first = first_below + width_below;
    tbb::parallel_for(std::size_t{0}, width, [&](std::size_t n) {
      std::vector<float> rows(static_cast<std::size_t>(s.layout.num_rows()));
      std::vector<float> bounds(rows.size() * kFanOut);
      const NodeAccess<std::byte> node = s.arena->mutable_node(first + n);
      NodeHeader& header = node.header();
      header.level = level;
      header.min_id = kNoId;
      header.num_children =
          static_cast<std::uint32_t>(std::min<std::size_t>(kFanOut, width_below - n * kFanOut));
      for (std::uint32_t c = 0; c < header.num_children; ++c) {
        const auto child = static_cast<std::uint32_t>(first_below + n * kFanOut + c);
        const NodeRef below = s.node(child);
        aggregate_bounds(below.bounds(), below.header().num_children, rows);
        node.children()[c] = child;
        node.min_ids()[c] = below.header().min_id;
        header.min_id = std::min(header.min_id, below.header().min_id);
        for (std::size_t row = 0; row < rows.size(); ++row) bounds[row * kFanOut + c] = rows[row];
      }
      encode_bounds(s.layout, bounds, header.num_children, node.bounds());
    });
    first_below = first;
    width_below = width;
  }
  write_node_zone_maps(s);
}

}  // namespace culmen
