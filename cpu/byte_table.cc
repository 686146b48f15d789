#include "cpu/byte_table.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "base/floating_point_scope.h"
#include "index/leaf_lengths.h"

namespace culmen::cpu {
namespace {

constexpr std::size_t kMostCodeBytes = std::size_t{1} << 30;
constexpr std::size_t kMostRowBytes = std::size_t{1} << 30;
// Attributes: of fewer, a row is on few cache lines in its leaf, too.
constexpr std::size_t kLeastForRows = 16;
constexpr double kMostCode = 127;
// Sizes within these limits neither overflow nor underflow on the way.
constexpr double kLargest = 0x1p400, kSmallest = 0x1p-400;

double step_of_range(double range) {
  return range > 0 ? range / (2 * kMostCode) : 1.0;
}

std::vector<AttributeCode> attribute_codes(const Snapshot& snapshot) {
  std::vector<AttributeCode> codes;
  for (const AttributeStats& stats : snapshot.stats) {
    const double range = stats.maximum - stats.minimum;
    codes.push_back({stats.minimum + range / 2, range, step_of_range(range), stats.max_abs()});
  }
  return codes;
}

// Steps of a wide table: none is below that of the range, so that codes are at most kMostCode.
void balance_steps(std::span<const double> usual_weights, std::vector<AttributeCode>& codes) {
  constexpr double kLeastWeight = 0x1p-10, kMostSteps = 0x1p20;  // beside the largest
  const double largest = *std::max_element(usual_weights.begin(), usual_weights.end());
  if (!(largest > 0x1p-200 && largest < 0x1p200)) return;
  std::vector<double> steps;
  double unit = 0;  // of steps
  for (std::size_t a = 0; a < codes.size(); ++a) {
    steps.push_back(std::sqrt(codes[a].step / std::max(usual_weights[a] / largest, kLeastWeight)));
    unit = std::max(unit, codes[a].step / steps[a]);
  }
  for (std::size_t a = 0; a < codes.size(); ++a)
    codes[a].step = std::min(steps[a] * unit, codes[a].step * kMostSteps);
}

// What scores lose by the codes, about: the length of weights times steps, times that of the codes, ranges over steps.
double loss_by(const std::vector<AttributeCode>& codes, std::span<const double> usual_weights) {
  double of_values = 0, of_codes = 0;
  for (std::size_t a = 0; a < codes.size(); ++a) {
    if (codes[a].range == 0) continue;
    const double value = usual_weights[a] * codes[a].step, code = codes[a].range / codes[a].step;
    of_values += value * value;
    of_codes += code * code;
  }
  return std::sqrt(of_values) * std::sqrt(of_codes);
}

bool is_usual(const AttributeStats& stats) {
  const double range = stats.maximum - stats.minimum;
  return range < kLargest && stats.max_abs() < kLargest && (range == 0 || range > kSmallest);
}

double norm_of(double squares) {
  return std::sqrt(squares) * (1 + kByteRounding);
}

}  // namespace

bool ByteTable::can_hold(const Snapshot& snapshot) {
  if (snapshot.height == 0) return false;
  const std::size_t quads = (snapshot.attributes.size() + 3) / 4;
  const std::size_t rows = snapshot.num_leaves * static_cast<std::size_t>(snapshot.leaf_rows);
  if (rows * quads * 4 > kMostCodeBytes) return false;
  const ChildZonesRef root = snapshot.arena->child_zones(snapshot.root);
  for (std::size_t i = 0; i < snapshot.stats.size(); ++i)
    if (root.gaps(i).some_missing != 0 || !is_usual(snapshot.stats[i])) return false;
  return true;
}

ByteTable::ByteTable(const Snapshot& snapshot, std::span<const double> usual_weights)
    : leaves_(snapshot.order().ascending_leaves),
      attributes_(attribute_codes(snapshot)),
      num_quads_((attributes_.size() + 3) / 4),
      leaf_rows_(static_cast<std::size_t>(snapshot.leaf_rows)),
      words_(new std::uint32_t[leaves_.size() * num_quads_ * leaf_rows_]),
      norms_(leaves_.size()) {
  if (snapshot.layout.is_wide()) {
    order_by_length(snapshot);
    if (!usual_weights.empty()) balance_steps(usual_weights, attributes_);
  }
  const std::size_t bytes = leaves_.size() * leaf_rows_ * attributes_.size() * snapshot.value_bytes();
  if (attributes_.size() >= kLeastForRows && bytes <= kMostRowBytes) rows_.reset(new std::byte[bytes]);
  visit_value_type(snapshot, [&]<typename T>(T) {
    tbb::parallel_for(std::size_t{0}, leaves_.size(), [&](std::size_t i) {
      const FloatingPointScope floating_point;
      write_leaf<T>(snapshot, i);
      if (rows_ != nullptr) write_rows<T>(snapshot, i);
    });
  });
}

bool ByteTable::suit(std::span<const double> usual_weights) const {
  constexpr double kMostLoss = 2;  // beside that of codes made for these weights
  if (usual_weights.empty()) return true;
  std::vector<AttributeCode> best = attributes_;
  for (AttributeCode& code : best) code.step = step_of_range(code.range);
  balance_steps(usual_weights, best);
  return !(loss_by(attributes_, usual_weights) > kMostLoss * loss_by(best, usual_weights));
}

void ByteTable::order_by_length(const Snapshot& snapshot) {
  length_row_ = snapshot.layout.length_row(Extreme::maximum);
  leaves_.clear();
  for (const LeafLength& leaf : leaves_by_length(snapshot)) {
    lengths_.push_back(leaf.length);
    leaves_.push_back(leaf.slot);
  }
}

// As small as the codes of the leaf's values, which its zone map limits, can have it.
template <typename T>
double ByteTable::scale_of(const Snapshot& snapshot, std::size_t i) const {
  constexpr double kLeast = 0x1p-10;
  const T* highest = snapshot.zone_vector<T>(leaves_[i], Extreme::maximum);
  const T* lowest = snapshot.zone_vector<T>(leaves_[i], Extreme::minimum);
  double farthest = 0;
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    const AttributeCode& code = attributes_[a];
    const double distance = std::max(highest[a] - code.middle, code.middle - lowest[a]);
    farthest = std::max(farthest, distance / (kMostCode * code.step));
  }
  return std::clamp(farthest, kLeast, 1.0);
}

template <typename T>
void ByteTable::write_rows(const Snapshot& snapshot, std::size_t i) {
  constexpr std::size_t kAtOnce = 16;  // rows of a cache line
  const std::size_t width = attributes_.size(), num_rows = snapshot.leaf(leaves_[i]).num_rows;
  const T* columns = snapshot.leaf_values<T>(leaves_[i]);
  T* rows = reinterpret_cast<T*>(rows_.get()) + i * leaf_rows_ * width;
  for (std::size_t first = 0; first < num_rows; first += kAtOnce)
    for (std::size_t a = 0; a < width; ++a)
      for (std::size_t r = first; r < std::min(first + kAtOnce, num_rows); ++r)
        rows[r * width + a] = columns[a * leaf_rows_ + r];
}

template <typename T>
void ByteTable::write_leaf(const Snapshot& snapshot, std::size_t i) {
  const double scale = scale_of<T>(snapshot, i);
  std::vector<simd::ByteScale> scales;
  scales.reserve(attributes_.size());
  for (const AttributeCode& code : attributes_) scales.push_back({code.middle, 1 / (code.step * scale)});
  const simd::ByteSquares squares = simd::byte_codes(snapshot.leaf_values<T>(leaves_[i]), leaf_rows_,
                                                     snapshot.leaf(leaves_[i]).num_rows, scales, words_of(i));
  norms_[i] = {scale, 1 / scale, norm_of(squares.codes), norm_of(squares.losses)};
}

simd::ByteRows ByteTable::rows(std::size_t i, std::size_t first, std::size_t num_vectors) const {
  const std::uint32_t* words = words_.get() + i * num_quads_ * leaf_rows_ + first * simd::kByteRows;
  return {reinterpret_cast<const std::uint8_t*>(words), num_quads_, leaf_rows_ / simd::kByteRows,
          std::min(num_vectors - first, simd::kByteVectors)};
}

}  // namespace culmen::cpu
