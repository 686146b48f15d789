#include "index/partitioner.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "culmen/error.h"

namespace culmen {
namespace {

// Measured on anti-correlated data of 8 attributes: with fewer shells weights of one sign visit more leaves,
// with more shells weights of both signs do. See docs/decisions/0008-shells.md.
constexpr std::uint32_t kShells = 7;

double square(double x) {
  return x * x;
}

}  // namespace

// What the levels cut on: a tuple r is beyond a cut in coordinate c if upper(r, c) >= cut * lower(r, c).
struct Partitioner::Coordinates {
  TupleChunk upper, lower;

  // Attribute by attribute, so that the order of a sum is ours and not the vector width's.
  explicit Coordinates(const TupleChunk& scaled)
      : upper(scaled.num_tuples(), scaled.num_attributes()),
        lower(scaled.num_tuples(), scaled.num_attributes()) {
    const std::size_t n = scaled.num_tuples();
    const std::span<double> sum = upper.attribute(0);
    std::ranges::copy(scaled.attribute(0), sum.begin());
    for (std::size_t i = 1; i < scaled.num_attributes(); ++i) {
      const std::span<const double> x = scaled.attribute(i);
      for (std::size_t r = 0; r < n; ++r) sum[r] += x[r];
    }
    std::ranges::fill(lower.attribute(0), 1.0);
    std::vector<double> tail(n, 0.0);
    for (std::size_t i = scaled.num_attributes() - 1; i > 0; --i) {
      const std::span<const double> x = scaled.attribute(i), before = scaled.attribute(i - 1);
      for (std::size_t r = 0; r < n; ++r) tail[r] += square(1.0 - x[r]);
      std::ranges::copy(tail, upper.attribute(i).begin());
      std::ranges::transform(before, lower.attribute(i).begin(),
                             [](double value) { return square(1.0 - value); });
    }
  }
};

void Partitioner::set_scale(std::span<const AttributeStats> stats) {
  for (const AttributeStats& attribute : stats) {
    minimum_.push_back(attribute.minimum);
    maximum_.push_back(attribute.maximum);
  }
  set_inverse();
}

void Partitioner::set_inverse() {
  for (std::size_t i = 0; i < minimum_.size(); ++i) {
    const double half_range = maximum_[i] * 0.5 - minimum_[i] * 0.5;  // halves: the range itself may overflow
    const double inverse = half_range > 0 ? 1.0 / half_range : 0.0;
    inverse_.push_back(std::min(inverse, std::numeric_limits<double>::max()));
  }
}

TupleChunk Partitioner::scaled(const TupleChunk& tuples) const {
  TupleChunk result(tuples.num_tuples(), tuples.num_attributes());
  for (std::size_t i = 0; i < tuples.num_attributes(); ++i)
    std::ranges::transform(tuples.attribute(i), result.attribute(i).begin(),
                           [&](double value) { return scaled(value, i); });
  return result;
}

Partitioner Partitioner::random(std::span<const AttributeStats> stats, std::uint32_t num_partitions) {
  Partitioner result;
  result.set_scale(stats);
  result.num_partitions_ = num_partitions;
  return result;
}

Partitioner Partitioner::angle(std::span<const AttributeStats> stats, std::vector<std::int32_t> splits,
                               const TupleChunk& sample) {
  Partitioner result;
  result.kind_ = Partitioning::angle;
  result.set_scale(stats);
  result.splits_ = std::move(splits);
  const Coordinates coordinates(result.scaled(sample));
  std::vector<std::uint32_t> partition(sample.num_tuples(), 0);
  for (std::size_t level = 0; level < result.splits_.size(); ++level) {
    const std::vector<double> cuts =
        result.quantile_cuts(coordinates, level, partition, result.num_partitions_);
    refine(coordinates, result.levels()[level], cuts.data(), partition);
    result.cuts_.insert(result.cuts_.end(), cuts.begin(), cuts.end());
    result.num_partitions_ *= static_cast<std::uint32_t>(result.splits_[level]);
  }
  return result;
}

// The cuts of one level, at quantiles of the rows of each of the num_parts parts.
std::vector<double> Partitioner::quantile_cuts(const Coordinates& coordinates, std::size_t level,
                                               std::span<const std::uint32_t> partition,
                                               std::uint32_t num_parts) const {
  std::vector<std::size_t> part_end(num_parts, 0);
  for (std::uint32_t p : partition) ++part_end[p];
  std::size_t start = 0;
  for (std::size_t& end : part_end) end = std::exchange(start, start + end);
  std::vector<double> ratios(partition.size());  // part by part
  const std::size_t c = coordinate_of_level(level, minimum_.size());
  for (std::size_t r = 0; r < partition.size(); ++r)
    ratios[part_end[partition[r]]++] = cut_ratio(coordinates.upper(r, c), coordinates.lower(r, c));
  const std::size_t num_cuts = static_cast<std::size_t>(splits_[level]) - 1;
  std::vector<double> cuts(num_parts * num_cuts, 1.0);
  tbb::parallel_for(std::size_t{0}, part_end.size(), [&](std::size_t p) {
    const std::span<double> rows(ratios.begin() + (p == 0 ? 0 : part_end[p - 1]),
                                 ratios.begin() + part_end[p]);
    if (rows.empty()) return;
    for (std::size_t i = 0, done = 0; i < num_cuts; ++i) {
      const std::size_t rank =
          std::min(rank_of_cut(level, i + 1, num_cuts + 1, rows.size()), rows.size() - 1);
      std::nth_element(rows.begin() + done, rows.begin() + rank, rows.end());
      cuts[p * num_cuts + i] = rows[rank];
      done = rank;
    }
  });
  return cuts;
}

// Replaces the number of each tuple's part by that of its part at this level. cuts: of this level.
void Partitioner::refine(const Coordinates& coordinates, PartitionLevel level, const double* cuts,
                         std::span<std::uint32_t> partition) {
  const std::size_t c = level.coordinate;
  for (std::size_t r = 0; r < partition.size(); ++r)
    partition[r] = refined(partition[r], level, cuts, coordinates.upper(r, c), coordinates.lower(r, c));
}

std::vector<PartitionLevel> partition_levels(std::span<const std::int32_t> splits,
                                             std::size_t num_attributes) {
  std::vector<PartitionLevel> levels;
  std::uint64_t num_parts = 1, first_cut = 0;
  for (std::size_t level = 0; level < splits.size(); ++level) {
    const auto parts = static_cast<std::uint32_t>(splits[level]);
    levels.push_back(
        {parts, std::bit_floor(parts - 1), coordinate_of_level(level, num_attributes), first_cut});
    first_cut += num_parts * (parts - 1);
    num_parts *= parts;
  }
  return levels;
}

void Partitioner::keys(const TupleChunk& tuples, std::uint64_t first_row, std::uint64_t num_rows,
                       std::span<OrderKey> out) const {
  const TupleChunk x = scaled(tuples);
  const Coordinates coordinates(x);
  const std::size_t rows = tuples.num_tuples();
  std::vector<std::uint32_t> partition(rows, 0);
  if (kind_ == Partitioning::random) {
    for (std::size_t r = 0; r < rows; ++r)
      partition[r] = static_cast<std::uint32_t>(static_cast<unsigned __int128>(first_row + r) *
                                                num_partitions_ / num_rows);
  }
  for (const PartitionLevel& level : levels())
    refine(coordinates, level, cuts_.data() + level.first_cut, partition);
  std::vector<double> largest(rows, 0.0);  // of values from 0 to 1
  for (std::size_t i = 0; i < x.num_attributes(); ++i) {
    const std::span<const double> values = x.attribute(i);
    for (std::size_t r = 0; r < rows; ++r) largest[r] = std::max(largest[r], values[r]);
  }
  const auto num_attributes = static_cast<double>(x.num_attributes());
  for (std::size_t r = 0; r < rows; ++r)
    out[r] = key_in(partition[r], pack_order(largest[r], coordinates.upper(r, 0) / num_attributes));
}

Partitioner Partitioner::restore(Partitioning kind, std::vector<double> minimum, std::vector<double> maximum,
                                 std::vector<std::int32_t> splits, std::vector<double> cuts,
                                 std::uint32_t num_partitions) {
  std::uint64_t product = 1;
  std::size_t num_cuts = 0;
  bool good = minimum.size() == maximum.size() && num_partitions >= 1 && num_partitions <= kMaxPartitions &&
              (splits.size() < 2 || minimum.size() > 1);
  for (std::size_t level = 0; level < splits.size(); ++level) {
    good = good && splits[level] >= (level == 0 ? 1 : 2) && product <= kMaxPartitions;
    if (!good) break;
    const auto parts = static_cast<std::uint64_t>(splits[level]);
    num_cuts += product * (parts - 1);
    product *= parts;
  }
  if (kind == Partitioning::random) good = good && splits.empty() && cuts.empty();
  if (kind == Partitioning::angle) good = good && product == num_partitions && num_cuts == cuts.size();
  if (!good) throw InvalidArgument("the parts of the partitioner do not fit together");
  Partitioner result;
  result.kind_ = kind;
  result.num_partitions_ = num_partitions;
  result.minimum_ = std::move(minimum);
  result.maximum_ = std::move(maximum);
  result.splits_ = std::move(splits);
  result.cuts_ = std::move(cuts);
  result.set_inverse();
  return result;
}

std::vector<std::int32_t> choose_splits(int num_attributes, std::uint32_t num_partitions) {
  if (num_attributes < 2 || num_partitions < 2) return {};
  const std::uint32_t shells = num_partitions >= 2 * kShells ? kShells : 1;
  const int halvings = std::bit_width(num_partitions / shells) - 1;
  std::vector<std::int32_t> splits(static_cast<std::size_t>(halvings) + 1, 2);
  splits[0] = static_cast<std::int32_t>(shells);
  return splits;
}

}  // namespace culmen
