// LeafFilter: decides which rows of a leaf pass a query's filter, for every CPU engine. The leaf's zone maps
// decide first; if they cannot, SIMD code computes a mask of the rows. One per thread and search.
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
#include "cpu/leaf_zone.h"
#include "cpu/simd/kernels.h"
#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/predicate.h"

namespace culmen {

class LeafFilter {
 public:
  explicit LeafFilter(const Predicate& predicate)
      : predicate_(predicate), reads_fields_(predicate.reads_fields()) {}

  bool is_everything() const { return predicate_.is_everything(); }
  // Whether it may read LeafFields.
  bool reads_fields() const { return reads_fields_; }

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

  // A leaf's rows and their zones.
  template <typename T>
  struct LeafRef : LeafZone<T> {
    LeafRef(const Snapshot& of, std::size_t which)
        : LeafZone<T>(of, which),
          num_rows(of.leaf(which).num_rows),
          stride(static_cast<std::size_t>(of.leaf_rows)),
          values(of.leaf_values<T>(which)),
          ids(of.leaf_ids(which)) {}

    std::size_t num_rows, stride;
    const T* values;
    const std::int64_t* ids;
  };

  // Whether fewer than one in `one_of` of the rows tested so far have passed.
  bool passes_less_than(std::uint64_t one_of) const { return num_passed_ < num_tested_ / one_of; }

  static std::size_t num_words(std::size_t num_rows) { return (num_rows + 63) / 64; }

  // Of a predicate that the zones leave undecided.
  template <typename T>
  static void write_mask(const Predicate& predicate, const LeafRef<T>& rows, Mask& mask, SearchStats& stats) {
    if (predicate.kind == Predicate::Kind::attribute)
      return write_attribute_mask(predicate, rows, mask, stats);
    if (predicate.kind == Predicate::Kind::field) return write_field_mask(predicate, rows, mask, stats);
    if (predicate.kind == Predicate::Kind::id_set) return write_id_set_mask(predicate, rows, mask, stats);
    if (predicate.kind == Predicate::Kind::id) {
      stats.bytes_touched += rows.num_rows * sizeof(std::int64_t);
      if (!predicate.key_bits.empty())
        return predicate.key_bits.write_mask({rows.ids, rows.num_rows}, mask.data(),
                                             [&](std::int64_t id) { return contains(predicate.keys, id); });
      return write_mask_of(rows.ids, rows.num_rows, std::span(predicate.keys), mask);
    }
    // A part that the zones decide is neutral, and is skipped.
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
  static void write_id_set_mask(const Predicate& predicate, const LeafRef<T>& rows, Mask& mask,
                                SearchStats& stats) {
    stats.bytes_touched += rows.num_rows * sizeof(std::int64_t);
    predicate.ids.bitmap().write_mask({rows.ids, rows.num_rows}, mask.data());
    if (!predicate.passes_others) return;
    for (std::size_t w = 0; w < num_words(rows.num_rows); ++w) mask[w] = ~mask[w];
    clear_after(rows.num_rows, mask);
  }

  template <typename T>
  static void write_attribute_mask(const Predicate& predicate, const LeafRef<T>& rows, Mask& mask,
                                   SearchStats& stats) {
    const auto column = static_cast<std::size_t>(predicate.column);
    const LeafFields fields = predicate.may_miss ? rows.fields() : LeafFields();
    const AttributeGaps* gaps = fields.gaps_of(column);
    const Verdict of_present =
        gaps == nullptr ? Verdict::some : verdict_of<double>(predicate.values, gaps->minimum, gaps->maximum);
    if (of_present == Verdict::some) {
      stats.bytes_touched += rows.num_rows * sizeof(T);
      write_mask_of(rows.values + column * rows.stride, rows.num_rows,
                    overlapping(std::span(predicate.values), rows.minimum(predicate.column),
                                rows.maximum(predicate.column)),
                    mask);
    } else {
      fill(of_present, rows.num_rows, mask);
    }
    if (gaps != nullptr) set_missing(fields.missing(*gaps), predicate.passes_missing, rows.num_rows, mask);
  }

  template <typename T>
  static void write_field_mask(const Predicate& predicate, const LeafRef<T>& rows, Mask& mask,
                               SearchStats& stats) {
    const LeafFields fields = rows.fields();
    const FieldZone& zone = fields.zone(static_cast<std::size_t>(predicate.column));
    const Verdict of_present = verdict_of_keys(predicate.keys, rows.field(predicate.column));
    const std::byte* keys = fields.packed_keys(zone);
    stats.bytes_touched += rows.num_rows * zone.key_bytes;
    if (of_present != Verdict::some) {
      fill(of_present, rows.num_rows, mask);
    } else if (zone.key_bytes == 1) {
      write_packed_mask<std::uint8_t>(keys, rows.num_rows, zone, predicate, mask);
    } else if (zone.key_bytes == 2) {
      write_packed_mask<std::uint16_t>(keys, rows.num_rows, zone, predicate, mask);
    } else if (zone.key_bytes == 4) {
      write_packed_mask<std::uint32_t>(keys, rows.num_rows, zone, predicate, mask);
    } else {
      write_packed_mask<std::uint64_t>(keys, rows.num_rows, zone, predicate, mask);
    }
    if (zone.missing != 0) set_missing(fields.missing(zone), predicate.passes_missing, rows.num_rows, mask);
  }

  // Keys are packed as their difference to the smallest: so are the few intervals that they are compared with.
  template <typename Packed>
  static void write_packed_mask(const std::byte* keys, std::size_t count, const FieldZone& zone,
                                const Predicate& predicate, Mask& mask) {
    const auto* numbers = reinterpret_cast<const Packed*>(keys);
    const std::span<const Interval<std::int64_t>> intervals =
        overlapping(std::span(predicate.keys), zone.minimum, zone.maximum);
    if (intervals.size() > (predicate.key_bits.empty() ? kMostComparedIntervals : kFewIntervals))
      return write_mask_by_row(count, mask, [&](std::size_t r) {
        const std::uint64_t key = static_cast<std::uint64_t>(zone.minimum) + numbers[r];
        return is_in(predicate, static_cast<std::int64_t>(key));
      });
    const auto packed = [&](std::int64_t key) {
      return static_cast<Packed>(static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(zone.minimum));
    };
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
    std::array<Interval<Packed>, kMostComparedIntervals> few;
    std::ranges::transform(intervals, few.begin(), [&](const Interval<std::int64_t>& interval) {
      return Interval<Packed>{packed(std::max(interval.minimum, zone.minimum)),
                              packed(std::min(interval.maximum, zone.maximum))};
    });
    simd::mask_of(numbers, count, std::span<const Interval<Packed>>(few.data(), intervals.size()),
                  mask.data());
  }

  static bool is_in(const Predicate& predicate, std::int64_t key) {
    return (predicate.key_bits.empty() || predicate.key_bits.may_contain(key)) &&
           contains(predicate.keys, key);
  }

  static void fill(Verdict verdict, std::size_t count, Mask& mask) {
    std::fill_n(mask.begin(), num_words(count), verdict == Verdict::all ? ~std::uint64_t{0} : 0);
    clear_after(count, mask);
  }

  static void clear_after(std::size_t count, Mask& mask) {
    if (count % 64 != 0) mask[count / 64] &= (std::uint64_t{1} << count % 64) - 1;
  }

  static void set_missing(const std::uint64_t* missing, bool passes, std::size_t count, Mask& mask) {
    for (std::size_t w = 0; w < num_words(count); ++w)
      mask[w] = passes ? mask[w] | missing[w] : mask[w] & ~missing[w];
  }

  template <typename Passes>
  static void write_mask_by_row(std::size_t count, Mask& mask, const Passes& row_passes) {
    std::fill_n(mask.begin(), num_words(count), 0);
    for (std::size_t r = 0; r < count; ++r) mask[r / 64] |= std::uint64_t{row_passes(r)} << r % 64;
  }

  // A float lies in an interval of doubles if and only if it lies in the same interval with its ends rounded inwards.
  template <typename T, typename Bound>
  static void write_mask_of(const T* numbers, std::size_t count, std::span<const Interval<Bound>> intervals,
                            Mask& mask) {
    if (intervals.size() > kMostComparedIntervals)
      return write_mask_by_row(
          count, mask, [&](std::size_t r) { return contains(intervals, static_cast<Bound>(numbers[r])); });
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
    std::array<Interval<T>, kMostComparedIntervals> rounded;
    std::ranges::transform(intervals, rounded.begin(), rounded_inwards<T, Bound>);
    simd::mask_of(numbers, count, std::span<const Interval<T>>(rounded.data(), intervals.size()),
                  mask.data());
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
  const bool reads_fields_;
  Mask mask_{};
  std::size_t num_passing_ = 0;
  std::uint64_t num_tested_ = 0, num_passed_ = 0;  // rows of all leaves so far
};

}  // namespace culmen
