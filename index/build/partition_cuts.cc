#include "index/build/partition_cuts.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "index/row_coordinates.h"

namespace culmen {
namespace {

// Measured on anti-correlated data of 8 attributes: with fewer shells weights of one sign visit more leaves, with more
// shells weights of both signs do. See docs/decisions/0008-shells.md.
constexpr std::uint32_t kShells = 7;
constexpr std::uint32_t kLeastForShells = 2 * kShells;  // partitions

// The rows of a sample, part by part.
class SampleParts {
 public:
  SampleParts(std::span<const std::uint32_t> part_of_row, std::uint32_t num_parts)
      : rows_(part_of_row.size()), ends_(num_parts, 0) {
    for (std::uint32_t p : part_of_row) ++ends_[p];
    std::size_t start = 0;
    for (std::size_t& end : ends_) end = std::exchange(start, start + end);
    for (std::size_t r = 0; r < part_of_row.size(); ++r)
      rows_[ends_[part_of_row[r]]++] = static_cast<std::uint32_t>(r);
  }
  std::size_t size() const { return ends_.size(); }
  std::span<const std::uint32_t> operator[](std::size_t p) const {
    const std::size_t first = p == 0 ? 0 : ends_[p - 1];
    return std::span(rows_).subspan(first, ends_[p] - first);
  }

 private:
  std::vector<std::uint32_t> rows_;
  std::vector<std::size_t> ends_;  // of each part in rows_
};

// Chooses the coordinate by which to halve some rows: the attribute with the widest 10-90 % spread, estimated from a
// few of the rows. Halves would be as wide as the whole if that spread is tiny beside the attribute's range (heavy
// tails), or if most rows are alike in half of the attributes (most values are 0). Then it is `angle`, unless `angle`
// is 0.
Coordinate choose_coordinate(const RowChunk& scaled, std::span<const std::uint32_t> rows,
                             std::uint32_t angle) {
  constexpr std::size_t kEnoughRows = 256;
  constexpr double kMinSpread = 1.0 / 16;  // of the range
  const std::size_t step = (rows.size() + kEnoughRows - 1) / kEnoughRows, d = scaled.num_attributes();
  std::vector<double> values;
  double widest = -1, range = 0;
  std::size_t attribute = 0, num_alike = 0;
  for (std::size_t i = 0; i < d; ++i) {
    values.clear();
    for (std::size_t r = 0; r < rows.size(); r += step) values.push_back(scaled(rows[r], i));
    std::ranges::sort(values);
    const auto quantile = [&](std::size_t tenths) { return values[values.size() * tenths / 10]; };
    const double width = quantile(9) - quantile(1);
    if (quantile(5) == values.front() || quantile(5) == values.back()) ++num_alike;
    if (width <= widest) continue;
    widest = width;
    range = values.back() - values.front();
    attribute = i;
  }
  const bool spreads = widest > kMinSpread * range && 2 * num_alike < d;
  return static_cast<Coordinate>(spreads || angle == 0 ? attribute : kFirstAngle + angle);
}

class CutChooser {
 public:
  // Level i is cut by angle i at most.
  CutChooser(Partitioning kind, const Partitioner& scale, const RowChunk& sample, std::size_t num_levels)
      : kind_(kind), coordinates_(scale.scaled(sample), scale.lengths(sample), num_levels) {}

  void run(std::span<const std::int32_t> splits) {
    const RowChunk& sample = coordinates_.scaled();
    std::vector<std::uint32_t> part_of_row(sample.num_rows(), 0);
    const std::vector<PartitionLevel> levels = partition_levels(kind_, splits, sample.num_attributes());
    for (std::size_t n = 0; n < levels.size(); ++n) {
      append_cuts(n, levels[n], SampleParts(part_of_row, num_parts_));
      coordinates_.refine(levels[n], cuts_, own_coordinates_, part_of_row);
      num_parts_ *= levels[n].parts;
    }
  }

  std::vector<double> take_cuts() { return std::move(cuts_); }
  std::vector<Coordinate> take_own_coordinates() { return std::move(own_coordinates_); }
  std::uint32_t num_parts() const { return num_parts_; }

 private:
  void append_cuts(std::size_t number, const PartitionLevel& level, const SampleParts& parts);
  void cut_part(std::size_t number, const PartitionLevel& level, std::span<const std::uint32_t> rows,
                std::size_t first_cut);

  const Partitioning kind_;
  const RowCoordinates coordinates_;
  std::vector<double> cuts_;
  std::vector<Coordinate> own_coordinates_;
  std::uint32_t num_parts_ = 1;
};

// Level `number`. A part without a row in the sample keeps cuts of 1.
void CutChooser::append_cuts(std::size_t number, const PartitionLevel& level, const SampleParts& parts) {
  cuts_.resize(level.first_cut + parts.size() * (level.parts - 1), 1.0);
  if (kind_ == Partitioning::kd) own_coordinates_.resize(cuts_.size(), 0);
  tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t p) {
    if (!parts[p].empty() && level.parts > 1)
      cut_part(number, level, parts[p], level.first_cut + level.cuts_of(static_cast<std::uint32_t>(p)));
  });
}

void CutChooser::cut_part(std::size_t number, const PartitionLevel& level,
                          std::span<const std::uint32_t> rows, std::size_t first_cut) {
  const std::size_t num_cuts = level.parts - 1, num_attributes = coordinates_.scaled().num_attributes();
  Coordinate own = 0;
  if (level.coordinate == kOwnCoordinate) {
    const std::uint32_t angle = num_attributes > 1 ? coordinate_of_level(number, num_attributes) : 0;
    own = choose_coordinate(coordinates_.scaled(), rows, angle);
    std::fill_n(own_coordinates_.begin() + static_cast<std::ptrdiff_t>(first_cut), num_cuts, own);
  }
  std::vector<double> ratios(rows.size());
  std::ranges::transform(rows, ratios.begin(), [&](std::uint32_t row) {
    const RowCoordinates::Quotient coordinate = coordinates_.at(row, level, own);
    return cut_ratio(coordinate.upper, coordinate.lower);
  });
  for (std::size_t i = 0, done = 0; i < num_cuts; ++i) {
    const std::size_t rank = std::min(rank_of_cut(number, i + 1, level.parts, rows.size()), rows.size() - 1);
    std::nth_element(ratios.begin() + static_cast<std::ptrdiff_t>(done),
                     ratios.begin() + static_cast<std::ptrdiff_t>(rank), ratios.end());
    cuts_[first_cut + i] = ratios[rank];
    done = rank;
  }
}

}  // namespace

bool lacks_shells(const Partitioner& partitioner) {
  const std::size_t num_built = partitioner.cuts().size() + 1;
  return !partitioner.has_shells() && !is_grid(partitioner) && num_built >= kLeastForShells;
}

bool is_grid(const Partitioner& partitioner) {
  const std::vector<std::int32_t>& splits = partitioner.splits();
  return partitioner.kind() == Partitioning::angle && splits.size() > 1 &&
         splits.size() == partitioner.minimum().size() && splits[0] == 1;
}

std::vector<std::int32_t> choose_splits(Partitioning kind, int num_attributes, std::uint32_t num_partitions,
                                        bool wants_shells) {
  if (num_partitions < 2 || (num_attributes < 2 && kind == Partitioning::angle)) return {};
  const std::uint32_t shells = wants_shells && num_partitions >= kLeastForShells ? kShells : 1;
  // No angle between two of hundreds of attributes tells apart what scores high; the order of lengths in a shell does.
  const bool is_halved = kind != Partitioning::angle || num_attributes <= kMaxGroupedAttributes;
  const int halvings = is_halved ? std::bit_width(num_partitions / shells) - 1 : 0;
  std::vector<std::int32_t> splits(static_cast<std::size_t>(halvings) + 1, 2);
  splits[0] = static_cast<std::int32_t>(shells);
  return splits;
}

Partitioner cut_partitions(Partitioning kind, std::span<const AttributeStats> ranges,
                           std::vector<std::int32_t> splits, const RowChunk& sample) {
  const Partitioner scale = Partitioner::random(ranges, 1);
  CutChooser cuts(kind, scale, sample, splits.size());
  cuts.run(splits);
  return Partitioner::restore(kind, scale.minimum(), scale.maximum(), std::move(splits), cuts.take_cuts(),
                              cuts.take_own_coordinates(), cuts.num_parts());
}

}  // namespace culmen
