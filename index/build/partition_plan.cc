#include "index/build/partition_plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "culmen/error.h"
#include "index/build/partition_choice.h"
#include "index/build/partition_cuts.h"
#include "index/build/sample.h"
#include "index/build/usual_ranges.h"

namespace culmen {
namespace {

constexpr std::uint64_t kSampleRows = 1 << 16;
constexpr std::uint64_t kSampleRowsPerPartition = 32;

// Leaves that a partition has by default, at least about. With fewer, leaves are more compact, but the number of leaves
// is rounded up per partition, and bounds and free room must stay within a quarter of the data.
constexpr std::uint64_t kLeavesPerPartition = 10;

std::uint32_t num_partitions_of(const Snapshot& snapshot, const BuildOptions& options) {
  if (options.num_splits < 0 || options.num_partitions < 0)
    throw InvalidArgument("num_splits and num_partitions must not be negative");
  if (static_cast<std::uint32_t>(options.num_partitions) > kMaxPartitions)
    throw InvalidArgument("at most " + std::to_string(kMaxPartitions) + " partitions");
  if (options.num_partitions > 0) return static_cast<std::uint32_t>(options.num_partitions);
  const std::uint64_t leaves = snapshot.num_rows / static_cast<std::uint64_t>(snapshot.leaf_rows);
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(leaves / kLeavesPerPartition, 1, kMaxPartitions));
}

// Beyond one group of attributes, angles prune better than halves by single attributes
// (docs/decisions/0020-kd-partitions.md). Clusters are halved.
Partitioning kind_of(const BuildOptions& options, int num_attributes) {
  if (!options.cluster.empty()) {
    const bool is_kd =
        options.partitioning == Partitioning::automatic || options.partitioning == Partitioning::kd;
    if (!is_kd || options.num_splits > 0)
      throw InvalidArgument("rows are clustered by a column into k-d partitions only");
    return Partitioning::kd;
  }
  if (options.partitioning != Partitioning::automatic) return options.partitioning;
  return options.num_splits > 0 || num_attributes > kMaxGroupSize ? Partitioning::angle : Partitioning::kd;
}

// What the options ask for, and what is usual where they leave it open.
PartitionStyle wanted_style(const BuildOptions& options, int num_attributes) {
  return {kind_of(options, num_attributes), options.shells != Shells::none,
          options.row_order == RowOrder::sum ? RowOrder::sum : RowOrder::largest};
}

// Whether the options leave it all open.
bool may_compare(const BuildOptions& options) {
  return options.partitioning == Partitioning::automatic && options.shells == Shells::automatic &&
         options.row_order == RowOrder::automatic && options.num_splits == 0 && options.num_partitions == 0 &&
         options.cluster.empty();
}

void check_style(const BuildOptions& options, const PartitionStyle& style) {
  if (style.kind != Partitioning::angle && options.num_splits != 0)
    throw InvalidArgument("num_splits goes with angle partitions only");
  if (options.shells == Shells::sums &&
      (style.kind == Partitioning::random || options.num_splits != 0 || !options.cluster.empty()))
    throw InvalidArgument("random partitions, the paper's grid and clusters have no shells");
}

PartitionStyle style_of(const Snapshot& snapshot, const TableView& table, const BuildOptions& options,
                        std::span<const AttributeStats> ranges) {
  const PartitionStyle wanted = wanted_style(options, snapshot.num_attributes());
  if (!may_compare(options)) return wanted;
  const std::uint64_t rows =
      rows_to_compare(snapshot.num_rows, snapshot.num_attributes(), snapshot.leaf_rows);
  if (rows == 0) return wanted;
  return choose_style(snapshot.layout, ranges, static_cast<std::uint64_t>(snapshot.leaf_rows),
                      kLeavesPerPartition, wanted, read_sample(table, snapshot.value_type, rows));
}

std::vector<std::int32_t> splits_of(const PartitionStyle& style, int num_attributes,
                                    std::uint32_t num_partitions, int num_splits) {
  if (num_splits == 0) return choose_splits(style.kind, num_attributes, num_partitions, style.has_shells);
  if (std::pow(num_splits, num_attributes - 1) > kMaxPartitions)
    throw InvalidArgument(std::to_string(num_splits) + " splits of " + std::to_string(num_attributes - 1) +
                          " angles make more than " + std::to_string(kMaxPartitions) +
                          " partitions; use num_partitions");
  if (num_splits == 1) return {};
  std::vector<std::int32_t> splits(static_cast<std::size_t>(num_attributes), num_splits);
  splits[0] = 1;  // the paper's grid of angles has no shells
  return splits;
}

std::optional<std::uint32_t> cluster_column(const Snapshot& s, const std::string& name) {
  if (name.empty()) return std::nullopt;
  const auto attribute = std::ranges::find(s.attributes, name, &Attribute::name);
  if (attribute != s.attributes.end()) return static_cast<std::uint32_t>(attribute - s.attributes.begin());
  const auto field = std::ranges::find(s.fields, name, &Field::name);
  if (field == s.fields.end())
    throw InvalidArgument("no attribute and no filter column is called \"" + name + "\", to cluster by");
  if (field->role == FieldRole::stored)
    throw InvalidArgument("column \"" + name +
                          "\" is only shown; rows are clustered by an attribute or a filter column");
  return static_cast<std::uint32_t>(s.attributes.size()) +
         static_cast<std::uint32_t>(field - s.fields.begin());
}

}  // namespace

PartitionPlan plan_partitions(const Snapshot& snapshot, const TableView& table, const BuildOptions& options) {
  const std::uint32_t partitions = num_partitions_of(snapshot, options);
  std::vector<AttributeStats> ranges = usual_ranges(snapshot, table);
  const PartitionStyle style = style_of(snapshot, table, options, ranges);
  check_style(options, style);
  PartitionPlan plan{style.kind, std::move(ranges), partitions, {}, 0, {}, style.row_order};
  if (style.kind == Partitioning::random) return plan;
  plan.cluster = cluster_column(snapshot, options.cluster);
  if (!plan.cluster)
    plan.splits = splits_of(style, snapshot.num_attributes(), partitions, options.num_splits);
  const std::uint64_t width = std::max(snapshot.num_attributes(), kMaxGroupedAttributes);
  const std::uint64_t sample_rows =
      kSampleRows * kMaxGroupedAttributes / width;  // wide rows take much memory
  plan.sample_rows = std::min(snapshot.num_rows, std::max(sample_rows, kSampleRowsPerPartition * partitions));
  return plan;
}

std::shared_ptr<const Partitioner> make_partitioner(const Snapshot& snapshot, const TableView& table,
                                                    PartitionPlan plan,
                                                    const std::shared_ptr<ArrayMemory>& memory) {
  const Partitioner partitioner =
      plan.kind == Partitioning::random
          ? Partitioner::random(plan.ranges, plan.num_partitions)
          : cut_partitions(plan.kind, plan.ranges, std::move(plan.splits),
                           read_sample(table, snapshot.value_type, plan.sample_rows, memory));
  return std::make_shared<const Partitioner>(partitioner.with_order(plan.row_order));
}

}  // namespace culmen
