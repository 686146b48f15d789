// 2^-t and the natural logarithm, defined to the bit: a fixed sequence of IEEE operations, so that every machine computes
// the same score. The libraries of C differ in the last bits.
//
// Neither need be monotone in the last bits.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"

namespace culmen {

// How far a result may be from the true one, as a part of its size. (Below 2^-1022, half of the smallest number as well.)
inline constexpr double kElementaryError = 0x1p-51;

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
inline constexpr double kNothingLeftOfExp2 = 1100;

// Of e^z, |z| <= ln 2 / 2, by Horner's rule: 1 / n! from n = 13 down to 0. The 14th power is below 2^-57.
inline constexpr int kTermsOfExp = 14;
CULMEN_HOST_DEVICE constexpr double term_of_exp(int i) {
  constexpr double kInverse[kTermsOfExp] = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
      1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       1.0 / 2,      1.0,         1.0};
  return kInverse[i];
}

// 2^-h, 0 <= h <= 1022.
CULMEN_HOST_DEVICE inline double power_of_minus(int h) {
  return __builtin_bit_cast(double, static_cast<std::int64_t>(1023 - h) << 52);
}

// 2^-t of t >= 0.
CULMEN_HOST_DEVICE inline double exp2_of_minus(double t) {
  if (!(t < kNothingLeftOfExp2)) return 0;
  const double whole = std::rint(t);
  const double z = (whole - t) * kLn2;
  double sum = 0;
  for (int i = 0; i < kTermsOfExp; ++i) sum = std::fma(sum, z, term_of_exp(i));
  // In two steps, of which only the second can round, as 2^-1022 is the smallest power that is a normal number.
  const int power = static_cast<int>(whole), most = power < 1000 ? power : 1000;
  return sum * power_of_minus(most) * power_of_minus(power - most);
}

inline constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;
inline constexpr double kRootOfHalf = 0x1.6a09e667f3bcdp-1;
inline constexpr int kLastOfLog = 25;

// ln x of a finite x > 0. With x = 2^e m and s = (m - 1) / (m + 1), ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...), |s| < 0.172.
CULMEN_HOST_DEVICE inline double log_of(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < kRootOfHalf) {
    m *= 2;
    --exponent;
  }
  const double f = m - 1;
  const double s = f / (2 + f), square = s * s;
  double sum = 1.0 / kLastOfLog;
  for (int odd = kLastOfLog - 2; odd >= 3; odd -= 2) sum = std::fma(sum, square, 1.0 / odd);
  // 2 s = f - f s, which does not lose what s lost by rounding.
  const double e = exponent;
  const double small = std::fma(2 * s * square, sum, std::fma(-f, s, e * kLn2Low));
  return std::fma(e, kLn2High, f) + small;
}

}  // namespace culmen
