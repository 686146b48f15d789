// Bounds on the scores of a leaf's rows by their codes (gpu/mirror/code_words.h), in integers. What an attribute adds to the
// score of a row with code c is at most base + step * c; the steps of a leaf become bytes, rounded up, of which the code
// sum of a row is a sum of products. Up to kMaxCodedAttributes attributes: their rounding is within what the parts and
// least_code_sum() leave for it. Scores and weights are in units in which scores are about 1, or many rows are left.
#pragma once

#include <climits>
#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "index/leaf_codes.h"

namespace culmen::gpu {

// Whether a weight can be scaled, as scores are: by a power of two, exactly. Where scores are so small that they need a larger
// scale, their own rounding may be more than the parts leave for it.
CULMEN_HOST_DEVICE inline bool can_scale(double weight, double scale) {
  constexpr double kLeast = 0x1p-900, kMost = 0x1p900;
  return scale >= kLeast && scale <= kMost && (weight == 0 || std::fabs(weight * scale) >= kLeast);
}

// Of one attribute in one leaf. Bases are rounded up by more than the error of their sum.
struct CodePart {
  float base = 0, step = 0;
};

// minimum, maximum: of the leaf.
CULMEN_HOST_DEVICE inline CodePart code_part(double weight, double minimum, double maximum) {
  constexpr double kOfFloats = 0x1p-20, kOfDoubles = 0x1p-40;
  const double step = weight * code_step(minimum, maximum);
  const double base = weight * minimum + (step > 0 ? step : 0);
  const double magnitude = std::fabs(weight) * (std::fabs(minimum) + std::fabs(maximum));
  return {static_cast<float>(base + std::fabs(base) * kOfFloats + magnitude * kOfDoubles),
          static_cast<float>(step)};
}

// largest_step: of the leaf, without sign. Sums of so small or large steps are no bounds: all rows may reach the k-th score.
CULMEN_HOST_DEVICE inline bool has_code_sums(float largest_step) {
  return largest_step > 0x1p-100F && largest_step < 0x1p100F;
}

// What one is worth in sums: the largest of a leaf's steps becomes 127 at most.
CULMEN_HOST_DEVICE inline float codes_per_score(float largest_step) {
  return 126 / largest_step;
}

// Not below the part's step, by more than that was rounded down. Within a signed byte.
CULMEN_HOST_DEVICE inline std::int32_t code_weight(float step, float per_score) {
  return static_cast<std::int32_t>(std::ceil(std::fma(step, per_score, 0x1p-12F)));
}

// Rows with a smaller code sum score less than kth_score. base: the sum of the parts' and the offset of the score. INT_MIN:
// all may reach it.
CULMEN_HOST_DEVICE inline std::int32_t least_code_sum(double kth_score, float base, double offset,
                                                      float per_score) {
  constexpr double kMost = 0x1p17;  // more than any sum
  const auto of_parts = static_cast<double>(base);
  const double error = (std::fabs(of_parts) + std::fabs(offset) + std::fabs(kth_score)) * 0x1p-44;
  const double least = (kth_score - offset - of_parts - error) * static_cast<double>(per_score) - 0x1p-10;
  if (!(least > -kMost)) return INT_MIN;  // or NaN
  return least < kMost ? static_cast<std::int32_t>(std::ceil(least)) : INT_MAX;
}

}  // namespace culmen::gpu
