#include "index/build/cluster_cuts.h"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/floating_point_scope.h"
#include "index/build/kd_halves.h"
#include "index/build/sample.h"
#include "index/columns.h"
#include "index/field_key.h"

namespace culmen {
namespace {

// With more groups, queries that do not filter by the column become slower; with fewer, those that do.
// docs/decisions/0025-clusters.md
constexpr std::uint64_t kMaxRareGroups = 64;

// Where groups of values begin, but for the first group. A value with `min_rows` rows or more has a group of its own,
// rarer ones share groups of neighbours.
std::vector<double> group_cuts(Array<double> values, std::size_t min_rows) {
  tbb::parallel_sort(values.begin(), values.end());
  std::vector<double> cuts;
  std::size_t group = 0;  // begins there
  for (std::size_t row = 0; row < values.size();) {
    const std::size_t first = row;
    while (row < values.size() && values[row] == values[first]) ++row;
    if (first == group || (row - first < min_rows && first - group < min_rows)) continue;
    cuts.push_back(values[first]);
    group = first;
  }
  return cuts;
}

// Sampled rows, group by group.
class Groups {
 public:
  Groups(std::span<const double> cuts, std::span<const double> values) : rows_(cuts.size() + 1) {
    for (std::uint32_t row = 0; row < values.size(); ++row)
      rows_[static_cast<std::size_t>(std::ranges::upper_bound(cuts, values[row]) - cuts.begin())].push_back(
          row);
  }
  std::size_t size() const { return rows_.size(); }
  std::span<std::uint32_t> operator[](std::size_t group) { return rows_[group]; }

 private:
  std::vector<std::vector<std::uint32_t>> rows_;
};

}  // namespace

Array<double> read_cut_values(const Snapshot& s, const TableView& table, std::span<const CodedColumn> coded,
                              std::uint32_t column, const std::shared_ptr<ArrayMemory>& memory) {
  constexpr std::uint64_t kRowsOfChunk = 1 << 14;
  Array<double> values(table.num_rows, memory);
  tbb::parallel_for(
      std::uint64_t{0}, (table.num_rows + kRowsOfChunk - 1) / kRowsOfChunk, [&](std::uint64_t chunk) {
        const FloatingPointScope floating_point;
        std::vector<std::uint64_t> rows(std::min(kRowsOfChunk, table.num_rows - chunk * kRowsOfChunk));
        std::iota(rows.begin(), rows.end(), chunk * kRowsOfChunk);
        double* out = values.data() + chunk * kRowsOfChunk;
        if (column < table.columns.size()) {
          visit_value_type(s, [&]<typename T>(T) {
            std::vector<T> stored(rows.size());
            gather_column(table.columns[column], table.attributes[column].preference, rows, stored.data());
            std::ranges::copy(stored, out);
          });
          return;
        }
        const std::size_t f = column - table.columns.size();
        const FieldRows read = read_coded_field(table, f, coded[f], rows);
        for (std::size_t r = 0; r < rows.size(); ++r) {
          const bool is_missing = !read.missing.empty() && read.missing[r];
          out[r] = is_missing ? kMissingCutValue : cut_value(table.fields[f], read.keys[r]);
        }
      });
  return values;
}

Partitioner cut_clusters(const Snapshot& s, const TableView& table, const PartitionPlan& plan,
                         const Array<double>& values) {
  const std::uint32_t column = *plan.cluster;
  const Partitioner scale = Partitioner::random(plan.ranges, 1);
  Partitioner whole = Partitioner::restore(plan.kind, scale.minimum(), scale.maximum(), {}, {}, {}, 1)
                          .clustered_by(column)
                          .with_order(plan.row_order);
  const std::uint64_t num_rows = values.size();
  if (num_rows == 0) return whole;
  const std::uint64_t num_groups = std::min<std::uint64_t>(plan.num_partitions, kMaxRareGroups);
  const std::vector<double> cuts = group_cuts(values, std::max<std::uint64_t>(1, num_rows / num_groups));
  std::vector<LateSplit> splits;
  for (std::uint32_t c = 0; c < cuts.size(); ++c) splits.push_back({c, column, cuts[c]});

  const RowChunk sample = read_sample(table, s.value_type, plan.sample_rows, values.get_allocator().memory());
  std::vector<double> sample_values(plan.sample_rows);
  for (std::uint64_t i = 0; i < plan.sample_rows; ++i)
    sample_values[i] = values[row_of_sample(i, plan.sample_rows, num_rows)];
  Groups groups(cuts, sample_values);
  // Halves have at least as many rows as a partition should.
  const std::uint64_t max_rows = std::max<std::uint64_t>(1, 2 * plan.sample_rows / plan.num_partitions);
  std::vector<std::vector<LateSplit>> halvings(groups.size());
  tbb::parallel_for(std::size_t{0}, groups.size(), [&](std::size_t g) {
    const auto value = [&sample](std::uint32_t row, std::uint32_t i) { return sample(row, i); };
    KdHalves<std::uint32_t, decltype(value)> halves(whole, std::nullopt, value);
    halves.run(groups[g], max_rows);
    halvings[g] = halves.cuts();
  });
  for (std::uint32_t g = 0; g < halvings.size(); ++g) {
    const auto first_new = static_cast<std::uint32_t>(splits.size() + 1);
    for (LateSplit split : halvings[g]) {
      split.partition = split.partition == 0 ? g : first_new + split.partition - 1;
      splits.push_back(split);
    }
  }
  splits.resize(std::min<std::size_t>(splits.size(), kMaxPartitions - 1));
  return whole.with(splits);
}

}  // namespace culmen
