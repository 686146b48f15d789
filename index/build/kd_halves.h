// KdHalves: halves a partition's rows as k-d trees do, by late splits, until the parts are small.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "index/partitioner.h"

namespace culmen {

// The cut that halves sorted values best; none if too many are equal.
std::optional<double> middle_cut(std::span<const double> sorted);

// Value: value(row, column), unscaled; columns are numbered as in Partitioner::cluster.
template <typename Row, typename Value>
class KdHalves {
 public:
  struct Part {
    std::uint32_t partition;
    std::span<Row> rows;
  };

  // Cuts by the column `first` as long as its values differ, then by the attribute with the widest 10-90 % spread in a
  // sample, as scaled by the partitioner, which must outlive this.
  KdHalves(const Partitioner& partitioner, std::optional<std::uint32_t> first, Value value)
      : scale_(partitioner.inverse()), first_(first), value_(std::move(value)) {}

  // Reorders the rows. A part whose rows are too similar is not halved.
  void run(std::span<Row> rows, std::size_t max_rows) { halve({0, rows}, max_rows, 0); }

  // In both, partition 0 is the one that was split; the cuts add partitions 1, 2 and so on.
  const std::vector<LateSplit>& cuts() const { return cuts_; }
  const std::vector<Part>& parts() const { return parts_; }  // in the tree's order

 private:
  static constexpr std::size_t kSampleRows = 256;

  // The lower half keeps the partition's number and precedes the upper one.
  void halve(const Part& part, std::size_t max_rows, int depth) {
    std::optional<LateSplit> cut;
    if (part.rows.size() > max_rows && depth < LateSplits::kMaxNesting) cut = find_cut(part.rows);
    if (!cut) return parts_.push_back(part);
    const auto upper = std::partition(part.rows.begin(), part.rows.end(),
                                      [&](const Row& row) { return value_(row, cut->column) < cut->cut; });
    const auto num_lower = static_cast<std::size_t>(upper - part.rows.begin());
    cut->partition = part.partition;
    cuts_.push_back(*cut);
    const auto fresh = static_cast<std::uint32_t>(cuts_.size());
    halve({part.partition, part.rows.first(num_lower)}, max_rows, depth + 1);
    halve({fresh, part.rows.subspan(num_lower)}, max_rows, depth + 1);
  }

  std::optional<LateSplit> find_cut(std::span<const Row> rows) {
    if (first_) {
      read_sample(rows, *first_);
      if (const std::optional<double> cut = middle_cut(sample_)) return LateSplit{0, *first_, *cut};
    }
    std::optional<LateSplit> best;
    double widest = 0;
    for (std::uint32_t i = 0; i < scale_.size(); ++i) {
      read_sample(rows, i);
      const double width = (sample_[sample_.size() * 9 / 10] - sample_[sample_.size() / 10]) * scale_[i];
      const std::optional<double> cut = middle_cut(sample_);
      if (!cut || (best && !(width > widest))) continue;
      widest = width;
      best = LateSplit{0, i, *cut};
    }
    return best;
  }

  void read_sample(std::span<const Row> rows, std::uint32_t column) {
    sample_.resize(std::min(rows.size(), kSampleRows));
    for (std::size_t n = 0; n < sample_.size(); ++n)
      sample_[n] = value_(rows[n * rows.size() / sample_.size()], column);
    std::ranges::sort(sample_);
  }

  const std::vector<double>& scale_;
  const std::optional<std::uint32_t> first_;
  const Value value_;
  std::vector<double> sample_;
  std::vector<LateSplit> cuts_;
  std::vector<Part> parts_;
};

}  // namespace culmen
