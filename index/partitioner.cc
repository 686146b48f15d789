#include "index/partitioner.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "culmen/error.h"

namespace culmen {
namespace {

// Measured on anti-correlated data of 8 attributes: with fewer shells weights of one sign visit more leaves,
// with more shells weights of both signs do. See docs/decisions/0008-shells.md.
constexpr std::uint32_t kShells = 7;

// Of the tree of late splits.
constexpr std::uint32_t kMaxDepth = 2 * Partitioner::kMaxLaterDepth;
constexpr std::size_t kMaxCutsOfNode = 1024;

double square(double x) {
  return x * x;
}

}  // namespace

// What the levels cut on: a row r is beyond a cut in coordinate c if upper(r, c) >= cut * lower(r, c).
struct Partitioner::Coordinates {
  RowChunk scaled;
  std::vector<double> sum;
  RowChunk upper, lower;  // of angles, from coordinate 1 on; random: empty

  Coordinates(RowChunk x, Partitioning kind)
      : scaled(std::move(x)),
        upper(kind == Partitioning::random ? 0 : scaled.num_rows(), scaled.num_attributes()),
        lower(upper) {
    // Attribute by attribute, so that the order of a sum is ours and not the vector width's.
    const std::size_t n = scaled.num_rows(), d = scaled.num_attributes();
    sum.assign(scaled.attribute(0).begin(), scaled.attribute(0).end());
    for (std::size_t i = 1; i < d; ++i)
      add(
          scaled.attribute(i), [](double value) { return value; }, sum);
    if (kind == Partitioning::random) return;
    std::vector<double> tail(n, 0.0);
    for (std::size_t i = d - 1; i > 0; --i) {
      add(
          scaled.attribute(i), [](double value) { return square(1.0 - value); }, tail);
      std::ranges::copy(tail, upper.attribute(i).begin());
      std::ranges::transform(scaled.attribute(i - 1), lower.attribute(i).begin(),
                             [](double value) { return square(1.0 - value); });
    }
  }

  // own: where the level's parts have a coordinate of their own.
  struct Cut {
    double upper, lower;
  };
  Cut at(std::size_t r, const PartitionLevel& level, std::uint8_t own) const {
    if (level.coordinate == 0) return {sum[r], 1.0};
    if (level.coordinate == kOwnCoordinate && own < kFirstAngle) return {scaled(r, own), 1.0};
    const std::size_t angle = level.coordinate == kOwnCoordinate ? own - kFirstAngle : level.coordinate;
    return {upper(r, angle), lower(r, angle)};
  }

 private:
  template <typename F>
  static void add(std::span<const double> values, F&& f, std::vector<double>& to) {
    for (std::size_t r = 0; r < to.size(); ++r) to[r] += f(values[r]);
  }
};

// The rows of a sample, part by part.
struct Partitioner::Parts {
  std::vector<std::uint32_t> rows;
  std::vector<std::size_t> ends;  // of each part in `rows`

  Parts(std::span<const std::uint32_t> partition, std::uint32_t num_parts)
      : rows(partition.size()), ends(num_parts, 0) {
    for (std::uint32_t p : partition) ++ends[p];
    std::size_t start = 0;
    for (std::size_t& end : ends) end = std::exchange(start, start + end);
    for (std::size_t r = 0; r < partition.size(); ++r)
      rows[ends[partition[r]]++] = static_cast<std::uint32_t>(r);
  }
  std::span<const std::uint32_t> part(std::size_t p) const {
    const std::size_t first = p == 0 ? 0 : ends[p - 1];
    return std::span(rows).subspan(first, ends[p] - first);
  }
};

namespace {

// By what to halve some rows: the attribute in which the middle eight tenths of them spread the farthest, of which a few
// rows tell. If that is next to nothing beside all of its range, as where tails are heavy, or most rows are alike in half
// of the attributes, as where most values are 0, halves would be as wide as the whole: then by `angle`, unless that is 0.
// `scaled`: 0 to 1.
std::uint8_t coordinate_of(const RowChunk& scaled, std::span<const std::uint32_t> rows, std::uint32_t angle) {
  constexpr std::size_t kEnough = 256;
  constexpr double kMinPart = 1.0 / 16;
  const std::size_t step = (rows.size() + kEnough - 1) / kEnough, d = scaled.num_attributes();
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
  const bool parts = widest > kMinPart * range && 2 * num_alike < d;
  return static_cast<std::uint8_t>(parts || angle == 0 ? attribute : kFirstAngle + angle);
}

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

RowChunk Partitioner::scaled(const RowChunk& chunk) const {
  RowChunk result(chunk.num_rows(), chunk.num_attributes());
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i)
    std::ranges::transform(chunk.attribute(i), result.attribute(i).begin(),
                           [&](double value) { return scaled(value, i); });
  return result;
}

Partitioner Partitioner::random(std::span<const AttributeStats> stats, std::uint32_t num_partitions) {
  Partitioner result;
  result.set_scale(stats);
  result.num_partitions_ = num_partitions;
  return result;
}

Partitioner Partitioner::from_sample(Partitioning kind, std::span<const AttributeStats> stats,
                                     std::vector<std::int32_t> splits, const RowChunk& sample) {
  Partitioner result;
  result.kind_ = kind;
  result.set_scale(stats);
  result.splits_ = std::move(splits);
  const Coordinates coordinates(result.scaled(sample), kind);
  std::vector<std::uint32_t> partition(sample.num_rows(), 0);
  const std::vector<PartitionLevel> levels = result.levels();
  for (std::size_t n = 0; n < levels.size(); ++n) {
    result.cut_level(coordinates, levels[n], n, Parts(partition, result.num_partitions_));
    result.refine(coordinates, levels[n], partition);
    result.num_partitions_ *= levels[n].parts;
  }
  return result;
}

// Appends the cuts of one level, at quantiles of the rows of each part.
void Partitioner::cut_level(const Coordinates& coordinates, const PartitionLevel& level, std::size_t number,
                            const Parts& parts) {
  const std::size_t num_cuts = level.parts - 1;
  cuts_.resize(level.first_cut + parts.ends.size() * num_cuts, 1.0);
  if (kind_ == Partitioning::kd) own_coordinates_.resize(cuts_.size(), 0);
  tbb::parallel_for(std::size_t{0}, parts.ends.size(), [&](std::size_t p) {
    const std::span<const std::uint32_t> rows = parts.part(p);
    if (rows.empty() || num_cuts == 0) return;
    const std::size_t first_cut = level.first_cut + level.cuts_of(static_cast<std::uint32_t>(p));
    std::uint8_t own = 0;
    if (level.coordinate == kOwnCoordinate) {
      const std::uint32_t angle = minimum_.size() > 1 ? coordinate_of_level(number, minimum_.size()) : 0;
      own = coordinate_of(coordinates.scaled, rows, angle);
      std::fill_n(own_coordinates_.begin() + static_cast<std::ptrdiff_t>(first_cut), num_cuts, own);
    }
    std::vector<double> ratios(rows.size());
    std::ranges::transform(rows, ratios.begin(), [&](std::uint32_t row) {
      const Coordinates::Cut cut = coordinates.at(row, level, own);
      return cut_ratio(cut.upper, cut.lower);
    });
    for (std::size_t i = 0, done = 0; i < num_cuts; ++i) {
      const std::size_t rank =
          std::min(rank_of_cut(number, i + 1, num_cuts + 1, rows.size()), rows.size() - 1);
      std::nth_element(ratios.begin() + static_cast<std::ptrdiff_t>(done),
                       ratios.begin() + static_cast<std::ptrdiff_t>(rank), ratios.end());
      cuts_[first_cut + i] = ratios[rank];
      done = rank;
    }
  });
}

// Replaces the number of each row's part by that of its part at this level.
void Partitioner::refine(const Coordinates& coordinates, const PartitionLevel& level,
                         std::span<std::uint32_t> partition) const {
  const double* const cuts = cuts_.data() + level.first_cut;
  const bool has_own = level.coordinate == kOwnCoordinate;
  const std::uint8_t* const of_cuts = has_own ? own_coordinates_.data() + level.first_cut : nullptr;
  for (std::size_t r = 0; r < partition.size(); ++r) {
    const std::uint8_t own = has_own ? of_cuts[level.cuts_of(partition[r])] : std::uint8_t{0};
    const Coordinates::Cut cut = coordinates.at(r, level, own);
    partition[r] = refined(partition[r], level, cuts, cut.upper, cut.lower);
  }
}

std::vector<PartitionLevel> partition_levels(Partitioning kind, std::span<const std::int32_t> splits,
                                             std::size_t num_attributes) {
  const auto coordinate_of = [&](std::size_t level) {
    return level > 0 && kind == Partitioning::kd ? kOwnCoordinate
                                                 : coordinate_of_level(level, num_attributes);
  };
  std::vector<PartitionLevel> levels;
  std::uint64_t num_parts = 1, first_cut = 0;
  for (std::size_t level = 0; level < splits.size(); ++level) {
    const auto parts = static_cast<std::uint32_t>(splits[level]);
    levels.push_back({parts, std::bit_floor(parts - 1), coordinate_of(level), first_cut});
    first_cut += num_parts * (parts - 1);
    num_parts *= parts;
  }
  return levels;
}

void Partitioner::keys(const RowChunk& chunk, std::uint64_t first_row, std::uint64_t num_rows,
                       std::span<OrderKey> out) const {
  const Coordinates coordinates(scaled(chunk), kind_);
  const std::size_t rows = chunk.num_rows();
  std::vector<std::uint32_t> partition(rows, 0);
  if (kind_ == Partitioning::random) {
    for (std::size_t r = 0; r < rows; ++r)
      partition[r] = static_cast<std::uint32_t>(static_cast<unsigned __int128>(first_row + r) *
                                                num_partitions_ / num_rows);
  }
  for (const PartitionLevel& level : levels()) refine(coordinates, level, partition);
  if (!late_splits_.empty())
    for (std::size_t r = 0; r < rows; ++r)
      partition[r] = later_partition(partition[r], [&](std::size_t i) { return chunk(r, i); });
  std::vector<double> largest(rows, 0.0);
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i) {
    const std::span<const double> values = chunk.attribute(i);
    for (std::size_t r = 0; r < rows; ++r)
      largest[r] = std::max(largest[r], scaled_value(values[r], minimum_[i], inverse_[i]));
  }
  const auto num_attributes = static_cast<double>(chunk.num_attributes());
  for (std::size_t r = 0; r < rows; ++r)
    out[r] = key_in(partition[r], pack_order(largest[r], coordinates.sum[r] / num_attributes));
}

Partitioner Partitioner::restore(Partitioning kind, std::vector<double> minimum, std::vector<double> maximum,
                                 std::vector<std::int32_t> splits, std::vector<double> cuts,
                                 std::vector<std::uint8_t> own_coordinates, std::uint32_t num_partitions) {
  std::uint64_t product = 1;
  std::size_t num_cuts = 0;
  bool good = minimum.size() == maximum.size() && num_partitions >= 1 && num_partitions <= kMaxPartitions &&
              (splits.size() < 2 || minimum.size() > 1 || kind != Partitioning::angle);
  for (std::size_t level = 0; level < splits.size(); ++level) {
    good = good && splits[level] >= (level == 0 ? 1 : 2) && product <= kMaxPartitions;
    if (!good) break;
    const auto parts = static_cast<std::uint64_t>(splits[level]);
    num_cuts += product * (parts - 1);
    product *= parts;
  }
  if (kind == Partitioning::random) good = good && splits.empty() && cuts.empty();
  if (kind != Partitioning::random) good = good && product == num_partitions && num_cuts == cuts.size();
  good = good && own_coordinates.size() == (kind == Partitioning::kd ? cuts.size() : 0) &&
         std::ranges::all_of(own_coordinates, [d = minimum.size()](std::uint8_t own) {
           return own < d || (own > kFirstAngle && own - kFirstAngle < static_cast<int>(d));
         });
  if (!good) throw InvalidArgument("the parts of the partitioner do not fit together");
  Partitioner result;
  result.kind_ = kind;
  result.num_partitions_ = num_partitions;
  result.minimum_ = std::move(minimum);
  result.maximum_ = std::move(maximum);
  result.splits_ = std::move(splits);
  result.cuts_ = std::move(cuts);
  result.own_coordinates_ = std::move(own_coordinates);
  result.set_inverse();
  return result;
}

std::vector<std::int32_t> choose_splits(Partitioning kind, int num_attributes, std::uint32_t num_partitions) {
  if (num_partitions < 2 || (num_attributes < 2 && kind == Partitioning::angle)) return {};
  const std::uint32_t shells = num_partitions >= 2 * kShells ? kShells : 1;
  const int halvings = std::bit_width(num_partitions / shells) - 1;
  std::vector<std::int32_t> splits(static_cast<std::size_t>(halvings) + 1, 2);
  splits[0] = static_cast<std::int32_t>(shells);
  return splits;
}

// ---- Later cuts

Partitioner Partitioner::with(std::span<const LateSplit> cuts) const {
  Partitioner result = *this;
  if (cuts.empty()) return result;
  result.cut_node_of_.resize(num_partitions(), kNone);
  result.cut_node_above_.resize(num_partitions(), kNone);
  for (const LateSplit& cut : cuts) {
    if (!result.can_add(cut)) throw InvalidArgument("a later cut of the partitioner does not fit");
    result.add(cut);
  }
  return result;
}

bool Partitioner::can_add(const LateSplit& cut) const {
  if (kind_ == Partitioning::random || cut.partition >= num_partitions() ||
      num_partitions() == kMaxPartitions || cut.attribute >= minimum_.size() || !std::isfinite(cut.cut))
    return false;
  const std::uint32_t above = cut_node_above_[cut.partition];
  if (above == kNone) return true;
  const CutNode& node = cut_nodes_[above];
  if (node.attribute != cut.attribute) return node.depth < kMaxDepth;
  // Between those beside the partition.
  const auto after = std::upper_bound(node.cuts.begin(), node.cuts.end(), cut.cut);
  return node.children[static_cast<std::size_t>(after - node.cuts.begin())] == cut.partition &&
         (after == node.cuts.begin() || *(after - 1) < cut.cut) &&
         (joins_node_above(cut) || node.depth < kMaxDepth);
}

bool Partitioner::can_be_cut(std::uint32_t partition) const {
  if (kind_ == Partitioning::random) return false;
  const std::uint32_t above = late_splits_.empty() ? kNone : cut_node_above_[partition];
  return above == kNone || cut_nodes_[above].depth <= kMaxDepth - kMaxLaterDepth;
}

bool Partitioner::joins_node_above(const LateSplit& cut) const {
  const std::uint32_t above = cut_node_above_[cut.partition];
  return above != kNone && cut_nodes_[above].attribute == cut.attribute &&
         cut_nodes_[above].cuts.size() < kMaxCutsOfNode;
}

void Partitioner::add(const LateSplit& cut) {
  const std::uint32_t above = cut_node_above_[cut.partition], fresh = num_partitions();
  late_splits_.push_back(cut);
  cut_node_of_.push_back(kNone);
  if (joins_node_above(cut)) {
    CutNode& node = cut_nodes_[above];
    const auto place = std::upper_bound(node.cuts.begin(), node.cuts.end(), cut.cut) - node.cuts.begin();
    node.cuts.insert(node.cuts.begin() + place, cut.cut);
    node.children.insert(node.children.begin() + place + 1, fresh);
    cut_node_above_.push_back(above);
    return;
  }
  const auto number = static_cast<std::uint32_t>(cut_nodes_.size());
  std::uint32_t depth = 1;
  if (above == kNone) {
    cut_node_of_[cut.partition] = number;
  } else {
    *std::ranges::find(cut_nodes_[above].children, cut.partition) = kIsNode | number;
    depth = cut_nodes_[above].depth + 1;
  }
  cut_nodes_.push_back({cut.attribute, depth, {cut.cut}, {cut.partition, fresh}});
  cut_node_above_[cut.partition] = number;
  cut_node_above_.push_back(number);
}

std::vector<std::uint32_t> Partitioner::origins() const {
  std::vector<std::uint32_t> origins(num_partitions_);
  std::iota(origins.begin(), origins.end(), 0U);
  for (const LateSplit& cut : late_splits_) origins.push_back(origins[cut.partition]);
  return origins;
}

std::vector<std::uint32_t> Partitioner::order() const {
  std::vector<std::uint32_t> next(num_partitions());
  for (std::uint32_t p = 0; p < num_partitions_; ++p) next[p] = p + 1;
  for (std::size_t c = 0; c < late_splits_.size(); ++c) {
    const auto fresh = num_partitions_ + static_cast<std::uint32_t>(c);
    next[fresh] = std::exchange(next[late_splits_[c].partition], fresh);
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t p = 0; order.size() < next.size(); p = next[p]) order.push_back(p);
  return order;
}

}  // namespace culmen
