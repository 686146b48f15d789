// LeafFilter: decides which rows of a leaf pass a query's filter, for every CPU engine. The leaf's zone map
// decides first; if it cannot, SIMD code computes a mask of the rows. One per thread and search.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/rounding.h"
#include "cpu/simd/kernels.h"
#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/predicate.h"

namespace culmen {

class LeafFilter {
 public:
  explicit LeafFilter(const Predicate& predicate) : predicate_(predicate) {}

  bool is_everything() const { return predicate_.is_everything(); }

  // Whether to test a leaf before anything in it is read for scoring. Without a k-th score bound every row would be a
  // candidate, and if few rows pass, most of the leaf need not be read. Otherwise a leaf is tested late, and only if
  // one of its rows reaches the k-th score bound.
  bool goes_first(double kth_bound, bool by_codes) const {
    constexpr std::uint64_t kBeforeScores = 64, kBeforeCodes = 256;
    return !is_everything() && (kth_bound == -std::numeric_limits<double>::infinity() ||
                                passes_less_than(by_codes ? kBeforeCodes : kBeforeScores));
  }
  // After codes have been read: whether to test the leaf before the remaining rows are scored.
  bool is_selective() const { return passes_less_than(2); }
  // Whether most leaves have no row that passes.
  bool passes_nearly_none() const { return passes_less_than(256); }

  // Tests the rows of a leaf. After a verdict of `some`, and until the next test, num_passing(), passes() and list()
  // are those of this leaf.
  template <typename T>
  Verdict test(const Snapshot& snapshot, std::size_t leaf, SearchStats& stats) {
    const LeafRef<T> rows(snapshot, leaf);
    Verdict verdict = verdict_of(predicate_, rows);
    if (verdict == Verdict::some) {
      write_mask(predicate_, rows, mask_, stats);
      num_passing_ = 0;
      for (std::size_t w = 0; w < num_words(rows.num_rows); ++w)
        num_passing_ += static_cast<std::size_t>(std::popcount(mask_[w]));
      if (num_passing_ == 0) verdict = Verdict::none;
      if (num_passing_ == rows.num_rows) verdict = Verdict::all;
    }
    num_tested_ += rows.num_rows;
    num_passed_ += verdict == Verdict::none ? 0 : verdict == Verdict::all ? rows.num_rows : num_passing_;
    return verdict;
  }

  std::size_t num_passing() const { return num_passing_; }
  bool passes(std::size_t row) const { return (mask_[row / 64] >> row % 64 & 1) != 0; }

  // Lists the rows that pass, in row order. rows: room for num_passing().
  void list(std::uint32_t* rows) const {
    std::size_t count = 0;
    for (std::size_t w = 0; count < num_passing_; ++w)
      for (std::uint64_t left = mask_[w]; left != 0; left &= left - 1)
        rows[count++] =
            static_cast<std::uint32_t>(64 * w) + static_cast<std::uint32_t>(std::countr_zero(left));
  }

 private:
  using Mask = std::array<std::uint64_t, kMaxLeafRows / 64>;

  // A leaf's rows and their zone map.
  template <typename T>
  struct LeafRef {
    LeafRef(const Snapshot& snapshot, std::size_t leaf)
        : num_rows(snapshot.leaf(leaf).num_rows),
          stride(static_cast<std::size_t>(snapshot.leaf_rows)),
          values(snapshot.leaf_values<T>(leaf)),
          ids(snapshot.leaf_ids(leaf)),
          smallest_id(snapshot.leaf(leaf).min_id),
          maxima(snapshot.zone_vector<T>(leaf, Extreme::maximum)),
          minima(snapshot.zone_vector<T>(leaf, Extreme::minimum)) {}

    double maximum(std::int32_t attribute) const { return maxima[attribute]; }
    double minimum(std::int32_t attribute) const { return minima[attribute]; }
    std::int64_t min_id() const { return smallest_id; }

    std::size_t num_rows, stride;
    const T* values;
    const std::int64_t* ids;
    std::int64_t smallest_id;
    const T *maxima, *minima;
  };

  // Whether fewer than one in `one_of` of the rows tested so far have passed.
  bool passes_less_than(std::uint64_t one_of) const { return num_passed_ < num_tested_ / one_of; }

  static std::size_t num_words(std::size_t num_rows) { return (num_rows + 63) / 64; }

  template <typename T>
  static void write_mask(const Predicate& predicate, const LeafRef<T>& rows, Mask& mask, SearchStats& stats) {
    if (predicate.kind == Predicate::Kind::attribute)
      return write_attribute_mask(predicate, rows, mask, stats);
    if (predicate.kind == Predicate::Kind::id) {
      stats.bytes_touched += rows.num_rows * sizeof(std::int64_t);
      return write_mask_of(rows.ids, rows.num_rows, std::span(predicate.ids), mask);
    }
    // The zone map has left the whole undecided. So a part that it decides is neutral, and is skipped.
    const bool is_conjunction = predicate.kind == Predicate::Kind::all_of;
    bool is_first = true;
    for (const Predicate& part : predicate.parts) {
      if (verdict_of(part, rows) != Verdict::some) continue;
      Mask other;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
      write_mask(part, rows, is_first ? mask : other, stats);
      for (std::size_t w = 0; w < num_words(rows.num_rows) && !is_first; ++w)
        mask[w] = is_conjunction ? mask[w] & other[w] : mask[w] | other[w];
      is_first = false;
    }
  }

  template <typename T>
  static void write_attribute_mask(const Predicate& predicate, const LeafRef<T>& rows, Mask& mask,
                                   SearchStats& stats) {
    const T* values = rows.values + static_cast<std::size_t>(predicate.attribute) * rows.stride;
    stats.bytes_touched += rows.num_rows * sizeof(T);
    // The intervals that overlap the leaf's range of the attribute.
    const auto first = first_reaching(predicate.values, rows.minimum(predicate.attribute));
    auto last = first;
    while (last != predicate.values.end() && last->minimum <= rows.maximum(predicate.attribute)) ++last;
    write_mask_of(values, rows.num_rows, std::span(first, last), mask);
  }

  // A float lies in an interval of doubles if and only if it lies in the same interval with its ends rounded inwards.
  template <typename T, typename Bound>
  static void write_mask_of(const T* numbers, std::size_t count, std::span<const Interval<Bound>> intervals,
                            Mask& mask) {
    constexpr std::size_t kByVectors = 8;
    if (intervals.size() > kByVectors) {
      std::fill_n(mask.begin(), num_words(count), 0);
      for (std::size_t r = 0; r < count; ++r)
        mask[r / 64] |= std::uint64_t{contains(intervals, static_cast<Bound>(numbers[r]))} << r % 64;
    } else {
      std::array<Interval<T>, kByVectors> rounded;  // NOLINT(cppcoreguidelines-pro-type-member-init)
      std::ranges::transform(intervals, rounded.begin(), rounded_inwards<T, Bound>);
      simd::mask_of(numbers, count, std::span<const Interval<T>>(rounded.data(), intervals.size()),
                    mask.data());
    }
  }

  template <typename T, typename Bound>
  static Interval<T> rounded_inwards(const Interval<Bound>& interval) {
    if constexpr (std::is_same_v<T, float>) {
      return {round_up_to_float(interval.minimum), round_down_to_float(interval.maximum)};
    } else {
      return interval;
    }
  }

  const Predicate& predicate_;
  Mask mask_{};
  std::size_t num_passing_ = 0;
  std::uint64_t num_tested_ = 0, num_passed_ = 0;  // rows of all leaves so far
};

}  // namespace culmen
