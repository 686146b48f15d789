#include "index/build/table_quantiles.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/floating_point_scope.h"
#include "culmen/error.h"
#include "index/columns.h"
#include "index/field_key.h"

namespace culmen {
namespace {

// Finds the values at some ranks without sorting the column. Values are numbers of 64 bits in the order of their keys. A pass
// counts them by their first 12 bits, and keeps only the buckets that one of the ranks falls in; further passes divide
// these by 8 more bits each, until few values are left, which are sorted, or each bucket has one value.
class ColumnQuantiles {
 public:
  ColumnQuantiles(const ColumnView& column, std::uint64_t num_rows, ValueType type)
      : column_(column), num_rows_(num_rows), to_float32_(type == ValueType::float32) {}

  std::vector<double> run() {
    std::uint64_t num_left = num_rows_;
    for (int shift = kFirstShift; num_left > kFewValues; shift = std::max(0, shift - 8)) {
      num_left = keep_buckets(shift);
      if (std::optional<std::vector<double>> values = values_of_buckets()) return at_places(*values);
    }
    return at_places_of_left();
  }

 private:
  static constexpr std::uint64_t kFewValues = 1 << 16;
  static constexpr int kFirstShift = 52;
  static constexpr std::size_t kBucketsOfLater = 256;

  // One pass: into which buckets it divided what was left.
  struct Level {
    int shift;
    // The position of each bucket among those that were kept. All others are in one more after these, and stay there: what
    // is dropped is counted without a branch.
    std::vector<std::uint32_t> kept;
  };

  static std::uint64_t key_of(double value) {
    return static_cast<std::uint64_t>(key_of_double(value)) ^ std::uint64_t{1} << 63;
  }

  // Calls f(value, position among the buckets of the last level that were kept, or their number) for values that are there,
  // until it returns false. Values are as stored, but with the users' signs.
  template <typename F>
  void for_each_value(F&& f) const {
    constexpr std::uint64_t kRowsAtOnce = 1 << 12;
    std::vector<std::uint64_t> rows;
    std::vector<double> values(kRowsAtOnce);
    for (std::uint64_t first = 0; first < num_rows_; first += kRowsAtOnce) {
      rows.resize(std::min(kRowsAtOnce, num_rows_ - first));
      std::iota(rows.begin(), rows.end(), first);
      gather_column(column_, Preference::high, rows, values.data());
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (std::isnan(values[r])) continue;
        const double value = to_float32_ ? static_cast<float>(values[r]) + 0.0 : values[r];
        const std::uint32_t bucket = bucket_of(key_of(value));
        if (!f(value, bucket)) return;
      }
    }
  }

  std::uint32_t bucket_of(std::uint64_t key) const {
    std::uint32_t bucket = 0;
    for (const Level& level : levels_)
      bucket = level.kept[bucket * kBucketsOfLater + digit(key, level.shift)];
    return bucket;
  }

  // The first level divides by all that is left of the key, the others by 8 bits.
  static std::size_t digit(std::uint64_t key, int shift) {
    return shift == kFirstShift ? key >> shift : key >> shift & (kBucketsOfLater - 1);
  }

  // Returns how many values are left in the buckets that are kept.
  std::uint64_t keep_buckets(int shift) {
    const std::size_t num_buckets =
        levels_.empty() ? std::size_t{1} << (64 - shift) : (num_kept_ + 1) * kBucketsOfLater;
    std::vector<std::uint64_t> counts(num_buckets);
    for_each_value([&](double value, std::uint32_t bucket) {
      ++counts[bucket * kBucketsOfLater + digit(key_of(value), shift)];
      return true;
    });
    if (levels_.empty()) set_places(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    // Dropped values are above all others, as their bucket is the last.
    std::vector<std::uint32_t> kept(num_buckets, std::numeric_limits<std::uint32_t>::max());
    std::uint64_t below = 0, num_left = 0;  // values in lower buckets; and in those of them that are kept
    num_kept_ = 0;
    ends_.clear();
    std::size_t p = 0;
    for (std::size_t bucket = 0; bucket < num_buckets; ++bucket) {
      const std::uint64_t end = below + counts[bucket];
      if (p < places_.size() && places_[p] < end) {
        kept[bucket] = num_kept_++;
        for (; p < places_.size() && places_[p] < end; ++p) places_[p] = num_left + (places_[p] - below);
        num_left += counts[bucket];
        ends_.push_back(num_left);
      }
      below = end;
    }
    for (std::uint32_t& bucket : kept) bucket = std::min(bucket, num_kept_);
    levels_.push_back({shift, std::move(kept)});
    return num_left;
  }

  void set_places(std::uint64_t num_values) {
    if (num_values == 0) return;
    const std::uint64_t steps = std::min<std::uint64_t>(kQuantileSteps, num_values - 1);
    for (std::uint64_t j = 0; j <= steps; ++j)
      places_.push_back(j * (num_values - 1) / std::max<std::uint64_t>(steps, 1));
  }

  // Of the buckets that are kept; nothing, and soon, if one of them has several.
  std::optional<std::vector<double>> values_of_buckets() const {
    std::vector<double> values(num_kept_, std::numeric_limits<double>::quiet_NaN());
    bool are_single = true;
    for_each_value([&](double value, std::uint32_t bucket) {
      if (bucket == num_kept_) return true;
      if (std::isnan(values[bucket])) values[bucket] = value;
      return are_single = values[bucket] == value;
    });
    return are_single ? std::optional(std::move(values)) : std::nullopt;
  }

  std::vector<double> at_places(const std::vector<double>& values_of_buckets) const {
    std::vector<double> quantiles;
    for (const std::uint64_t place : places_)
      quantiles.push_back(values_of_buckets[static_cast<std::size_t>(std::ranges::upper_bound(ends_, place) -
                                                                     ends_.begin())]);
    return quantiles;
  }

  std::vector<double> at_places_of_left() {
    std::vector<double> left;
    for_each_value([&](double value, std::uint32_t bucket) {
      if (levels_.empty() || bucket < num_kept_) left.push_back(value);
      return true;
    });
    std::sort(left.begin(), left.end());
    if (levels_.empty()) set_places(left.size());
    std::vector<double> quantiles;
    for (const std::uint64_t place : places_) quantiles.push_back(left[place]);
    return quantiles;
  }

  const ColumnView& column_;
  std::uint64_t num_rows_;
  bool to_float32_;
  std::vector<Level> levels_;
  std::uint32_t num_kept_ = 0;         // buckets of the last level
  std::vector<std::uint64_t> ends_;    // how many of the values that are left are in these, up to each
  std::vector<std::uint64_t> places_;  // of the quantiles, among the values that are left
};

}  // namespace

Quantiles quantiles_of(const TableView& table, ValueType type) {
  Quantiles quantiles(table.columns.size());
  tbb::parallel_for(std::size_t{0}, quantiles.size(), [&](std::size_t i) {
    const FloatingPointScope floating_point;
    quantiles[i] = ColumnQuantiles(table.columns[i], table.num_rows, type).run();
  });
  return quantiles;
}

void check_quantiles(std::span<const std::vector<double>> given, std::span<const Attribute> attributes) {
  if (given.size() != attributes.size())
    throw InvalidArgument("quantiles of " + std::to_string(given.size()) + " attributes for " +
                          std::to_string(attributes.size()));
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!are_quantiles(given[i]))
      throw InvalidArgument("attribute \"" + attributes[i].name + "\": its quantiles are not up to " +
                            std::to_string(kQuantileSteps + 1) + " finite numbers that ascend");
}

}  // namespace culmen
