#include "index/partitioner.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "culmen/error.h"

namespace culmen {
namespace {

// Measured on anti-correlated data of 8 attributes: with fewer shells weights of one sign visit more leaves,
// with more shells weights of both signs do. See docs/decisions/0008-shells.md.
constexpr std::uint32_t kShells = 7;

}  // namespace

// What the levels cut on: a tuple r is beyond a cut in coordinate c if upper(r, c) >= cut * lower(r, c).
struct Partitioner::Coordinates {
  TupleChunk upper, lower;

  // Column by column, so that the order of a sum is ours and not the vector width's.
  explicit Coordinates(const TupleChunk& scaled)
      : upper(scaled.rows(), scaled.cols()), lower(scaled.rows(), scaled.cols()) {
    upper.col(0) = scaled.col(0);
    for (Eigen::Index i = 1; i < scaled.cols(); ++i) upper.col(0) += scaled.col(i);
    lower.col(0).setOnes();
    Eigen::ArrayXd tail = Eigen::ArrayXd::Zero(scaled.rows());
    for (Eigen::Index i = scaled.cols() - 1; i > 0; --i) {
      tail += (1.0 - scaled.col(i)).square();
      upper.col(i) = tail;
      lower.col(i) = (1.0 - scaled.col(i - 1)).square();
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
  TupleChunk result(tuples.rows(), tuples.cols());
  for (Eigen::Index i = 0; i < tuples.cols(); ++i) {
    const auto a = static_cast<std::size_t>(i);
    result.col(i) = ((tuples.col(i) * 0.5 - minimum_[a] * 0.5) * inverse_[a]).min(1.0).max(0.0);
  }
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
  std::vector<std::uint32_t> partition(static_cast<std::size_t>(sample.rows()), 0);
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
  const auto c = static_cast<Eigen::Index>(coordinate_of_level(level, minimum_.size()));
  for (std::size_t r = 0; r < partition.size(); ++r) {
    const auto row = static_cast<Eigen::Index>(r);
    ratios[part_end[partition[r]]++] = cut_ratio(coordinates.upper(row, c), coordinates.lower(row, c));
  }
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
  const auto c = static_cast<Eigen::Index>(level.coordinate);
  for (std::size_t r = 0; r < partition.size(); ++r) {
    const auto row = static_cast<Eigen::Index>(r);
    partition[r] = refined(partition[r], level, cuts, coordinates.upper(row, c), coordinates.lower(row, c));
  }
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
  const auto rows = static_cast<std::size_t>(tuples.rows());
  std::vector<std::uint32_t> partition(rows, 0);
  if (kind_ == Partitioning::random) {
    for (std::size_t r = 0; r < rows; ++r)
      partition[r] = static_cast<std::uint32_t>(static_cast<unsigned __int128>(first_row + r) *
                                                num_partitions_ / num_rows);
  }
  for (const PartitionLevel& level : levels())
    refine(coordinates, level, cuts_.data() + level.first_cut, partition);
  Eigen::ArrayXd largest = x.col(0);
  for (Eigen::Index i = 1; i < x.cols(); ++i) largest = largest.max(x.col(i));
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = static_cast<Eigen::Index>(r);
    out[r] = key_in(partition[r],
                    pack_order(largest[row], coordinates.upper(row, 0) / static_cast<double>(x.cols())));
  }
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
