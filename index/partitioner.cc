#include "index/partitioner.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "culmen/error.h"

namespace culmen {
namespace {

constexpr int kLargestBits = 30;
constexpr int kSumBits = 14;
static_assert(kPartitionBits + kLargestBits + kSumBits == 64);

// Floats in [0, 1] are ordered as their bits, which end below 2^30.
std::uint64_t descending_bits(float zero_to_one) {
  return ((std::uint64_t{1} << kLargestBits) - 1) - std::bit_cast<std::uint32_t>(zero_to_one);
}

OrderKey pack_key(std::uint32_t partition, double largest, double mean) {
  const auto sum_level = static_cast<std::uint64_t>(mean * ((1 << kSumBits) - 1));
  return (std::uint64_t{partition} << (64 - kPartitionBits)) |
         (descending_bits(static_cast<float>(largest)) << kSumBits) | (((1 << kSumBits) - 1) - sum_level);
}

// squares[r, i] = y_i^2 and tails[r, i] = sum over j > i of y_j^2: the two sides of an angle's tangent
// squared.
struct Tangents {
  TupleChunk squares, tails;

  Tangents(const TupleChunk& scaled, Eigen::Index num_angles) {
    squares = (1.0 - scaled).square();
    tails.resize(scaled.rows(), num_angles);
    Eigen::ArrayXd tail = Eigen::ArrayXd::Zero(scaled.rows());
    for (Eigen::Index i = scaled.cols() - 1; i > 0; --i) {
      tail += squares.col(i);
      if (i <= num_angles) tails.col(i - 1) = tail;
    }
  }
};

}  // namespace

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
  const auto num_angles = static_cast<Eigen::Index>(result.splits_.size());
  const Tangents tangents(result.scaled(sample), num_angles);
  std::vector<double> ratios(static_cast<std::size_t>(sample.rows()));
  for (Eigen::Index i = 0; i < num_angles; ++i) {
    for (Eigen::Index r = 0; r < sample.rows(); ++r) {
      const double ratio = tangents.tails(r, i) / tangents.squares(r, i);
      ratios[static_cast<std::size_t>(r)] =
          ratio >= 0 ? ratio : std::numeric_limits<double>::infinity();  // 0 / 0
    }
    std::sort(ratios.begin(), ratios.end());
    const auto parts = static_cast<std::size_t>(result.splits_[static_cast<std::size_t>(i)]);
    for (std::size_t part = 1; part < parts; ++part)
      result.cuts_.push_back(ratios.empty() ? 1.0 : ratios[part * ratios.size() / parts]);
    result.num_partitions_ *= static_cast<std::uint32_t>(parts);
  }
  return result;
}

void Partitioner::keys(const TupleChunk& tuples, std::uint64_t first_row, std::uint64_t num_rows,
                       std::span<OrderKey> out) const {
  const TupleChunk x = scaled(tuples);
  const auto rows = static_cast<std::size_t>(tuples.rows());
  std::vector<std::uint32_t> partition(rows, 0);
  if (kind_ == Partitioning::random) {
    for (std::size_t r = 0; r < rows; ++r)
      partition[r] = static_cast<std::uint32_t>(static_cast<unsigned __int128>(first_row + r) *
                                                num_partitions_ / num_rows);
  } else {
    const Tangents tangents(x, static_cast<Eigen::Index>(splits_.size()));
    const double* cut = cuts_.data();
    for (std::size_t i = 0; i < splits_.size(); ++i) {
      const std::int32_t parts = splits_[i];
      const auto angle = static_cast<Eigen::Index>(i);
      for (std::size_t r = 0; r < rows; ++r) {
        const auto row = static_cast<Eigen::Index>(r);
        std::uint32_t part = 0;
        for (std::int32_t c = 0; c + 1 < parts; ++c)
          part += tangents.tails(row, angle) >= cut[c] * tangents.squares(row, angle) ? 1 : 0;
        // Every other run of an angle is numbered backwards: neighbours in number are neighbours in angle.
        const auto count = static_cast<std::uint32_t>(parts);
        partition[r] = partition[r] * count + (partition[r] % 2 == 0 ? part : count - 1 - part);
      }
      cut += parts - 1;
    }
  }
  // Column by column, so that the order of the sum is ours and not the vector width's.
  Eigen::ArrayXd largest = x.col(0), sum = x.col(0);
  for (Eigen::Index i = 1; i < x.cols(); ++i) {
    largest = largest.max(x.col(i));
    sum += x.col(i);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = static_cast<Eigen::Index>(r);
    out[r] = pack_key(partition[r], largest[row], sum[row] / static_cast<double>(x.cols()));
  }
}

Partitioner Partitioner::restore(Partitioning kind, std::vector<double> minimum, std::vector<double> maximum,
                                 std::vector<std::int32_t> splits, std::vector<double> cuts,
                                 std::uint32_t num_partitions) {
  std::uint64_t product = 1;
  std::size_t num_cuts = 0;
  bool good = minimum.size() == maximum.size() && num_partitions >= 1 && num_partitions <= kMaxPartitions &&
              splits.size() < std::max<std::size_t>(minimum.size(), 1);
  for (std::int32_t parts : splits) {
    good = good && parts >= 2 && product <= kMaxPartitions;
    if (!good) break;
    product *= static_cast<std::uint64_t>(parts);
    num_cuts += static_cast<std::size_t>(parts) - 1;
  }
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
  std::vector<std::int32_t> splits;
  std::uint64_t product = 1;
  // Raise one angle at a time, in turn, as long as the product allows: 1,1,1 -> 2,1,1 -> 2,2,1 -> ...
  std::vector<std::int32_t> parts(static_cast<std::size_t>(std::max(num_attributes - 1, 0)), 1);
  for (bool raised = !parts.empty(); raised;) {
    raised = false;
    for (std::int32_t& part : parts) {
      const std::uint64_t next =
          product / static_cast<std::uint64_t>(part) * static_cast<std::uint64_t>(part + 1);
      if (next > num_partitions) break;
      product = next;
      ++part;
      raised = true;
    }
  }
  for (std::int32_t part : parts)
    if (part > 1) splits.push_back(part);
  return splits;
}

}  // namespace culmen
