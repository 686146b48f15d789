// Bounds on the scores of a leaf's rows by their codes (index/leaf_codes.h), for host and device.
//
// An attribute adds to the score of a row with code c at most base + |weight| * step * c, where codes of negative weights
// count from the other end of the range. In units of per_sum the products |weight| * step become integers, rounded up, and
// a row's bound is a sum of 16 bits, of which a word has four on the host and two on a device.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/host_device.h"
#include "index/leaf_codes.h"

namespace culmen {

// Of more, a code could not be told from the next one in a sum.
inline constexpr std::size_t kMaxCodeTerms = 256;

// What the terms of a query add up to in one leaf, before codes are looked at.
struct CodeParts {
  double base = 0, magnitude = 0, largest = 0;

  CULMEN_HOST_DEVICE void add_offset(double offset) {
    base += offset;
    magnitude += std::fabs(offset);
  }
  // minimum, maximum: of the leaf.
  CULMEN_HOST_DEVICE void add(double weight, double minimum, double maximum) {
    const double step = weight * code_step(minimum, maximum);
    base += weight * minimum + (weight > 0 ? step : (kCodeIntervals - 1) * step);
    magnitude += std::fabs(weight) * (std::fabs(minimum) + std::fabs(maximum));
    largest = std::fmax(largest, std::fabs(step));
  }
};

class CodeScale {
 public:
  CULMEN_HOST_DEVICE CodeScale(const CodeParts& parts, std::size_t num_terms) : base_(parts.base) {
    constexpr double kLargestSum = 65535, kLastCode = kCodeIntervals - 1;
    // An attribute whose range overflows has no codes. Infinite or NaN if any part is.
    has_bound_ = parts.magnitude + parts.largest < 0x1p1000;
    per_sum_ = parts.largest / (std::floor(kLargestSum / kLastCode / static_cast<double>(num_terms)) - 1);
    // Steps that are too small to be divided are within the margin, which also covers scores of few digits.
    constexpr double kLeast = 0x1p-900;
    const bool has_sums = per_sum_ > kLeast;
    if (!has_sums) per_sum_ = 0;
    sums_per_score_ = has_sums ? 1 / per_sum_ : 0;
    margin_ = parts.magnitude * 0x1p-40 + kMaxCodeTerms * kCodeIntervals * kLargestSum * kLeast;
  }

  // Whether there is a bound below infinity.
  CULMEN_HOST_DEVICE bool has_bound() const { return has_bound_; }

  // What each step of the term's codes adds to a sum; the range as in CodeParts.
  CULMEN_HOST_DEVICE std::uint32_t weight_in_sums(double weight, double minimum, double maximum) const {
    const double steps = std::fabs(weight * code_step(minimum, maximum)) * sums_per_score_;
    return static_cast<std::uint32_t>(steps) + 1;
  }

  // No row with this sum, or a smaller one, scores more.
  CULMEN_HOST_DEVICE double bound(std::uint32_t sum) const { return base_ + sum * per_sum_ + margin_; }

 private:
  double base_, per_sum_, sums_per_score_, margin_;
  bool has_bound_;
};

// Sums of all rows of a word of codes: sums[j] has those of its rows' j-th codes, 16 bits each.
template <typename Word>
struct CodeSums {
  static constexpr int kRows = 4;  // whose codes are in 16 bits of the word
  static constexpr auto kOfEach16 = static_cast<Word>(~Word{0} / 0xffff);

  Word sums[kRows] = {};

  // is_flipped: of terms with negative weight.
  CULMEN_HOST_DEVICE void add(Word codes, bool is_flipped, std::uint32_t weight) {
    if (is_flipped) codes = ~codes;
    for (int j = 0; j < kRows; ++j) sums[j] += (codes >> (4 * j) & (kOfEach16 * 0xf)) * weight;
  }
  CULMEN_HOST_DEVICE std::uint32_t highest() const {
    std::uint32_t highest = 0;
    for (int j = 0; j < kRows; ++j)
      for (std::size_t bit = 0; bit < 8 * sizeof(Word); bit += 16) {
        const auto sum = static_cast<std::uint32_t>(sums[j] >> bit & 0xffff);
        highest = sum > highest ? sum : highest;
      }
    return highest;
  }
};

}  // namespace culmen
