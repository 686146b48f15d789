#include "base/moments.h"

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

namespace culmen {
namespace {

using boost::multiprecision::cpp_int;

constexpr int kLowestExponent = -1074;           // every float64 is a multiple of 2^this
constexpr std::uint64_t kNumExponents = 2047;    // biased, of finite numbers
constexpr std::uint16_t kUnused = 0xffff;        // an exponent of no number
constexpr std::size_t kWordsOfExponent = 1 + 6;  // itself, and two for each sum
constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 62;

struct BinaryNumber {
  explicit BinaryNumber(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    exponent = bits >> 52 & 0x7ff;
    mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    is_negative = bits >> 63 != 0;
  }

  std::uint64_t exponent;  // biased
  std::uint64_t mantissa;
  bool is_negative;
};

// By how much mantissas are shifted in units of 2^kLowestExponent.
unsigned shift_of(std::uint64_t exponent) {
  return static_cast<unsigned>(exponent == 0 ? 0 : exponent - 1);
}

// numerator / denominator * 2^unit, rounded to nearest, ties to even. unit <= kLowestExponent.
double rounded_quotient(cpp_int numerator, const cpp_int& denominator, int unit, bool to_float32 = false) {
  const bool is_negative = numerator < 0;
  if (is_negative) numerator = -numerator;
  if (numerator == 0) return 0;
  const int precision = to_float32 ? 24 : 53;
  const int lowest = to_float32 ? -149 : kLowestExponent;  // exponent of the smallest number
  // The quotient has at least so many bits, in units of 2^unit.
  const int bits = static_cast<int>(msb(numerator)) - static_cast<int>(msb(denominator));
  // Of the last bit that is kept. At first a bit or two too many are.
  int exponent = std::max(bits - precision + unit, lowest);
  for (;; ++exponent) {
    const cpp_int divisor = denominator << (exponent - unit);
    cpp_int quotient, rest;
    divide_qr(numerator, divisor, quotient, rest);
    if (quotient >= cpp_int(1) << precision) continue;
    const cpp_int twice = rest * 2;
    if (twice > divisor || (twice == divisor && bit_test(quotient, 0))) ++quotient;
    const double result = std::ldexp(quotient.convert_to<double>(), exponent);
    return is_negative ? -result : result;
  }
}

// The root of numerator / denominator * 2^(2 unit), rounded to nearest. unit <= kLowestExponent.
double rounded_root(const cpp_int& numerator, const cpp_int& denominator, int unit) {
  if (numerator <= 0) return 0;
  // A root of 60 bits is cut off exactly; one more says whether it was more than that.
  constexpr int kBits = 2 * 60;
  const int bits = static_cast<int>(msb(numerator)) - static_cast<int>(msb(denominator));
  const int shift = std::max(0, (kBits - bits) / 2 + 1);
  cpp_int quotient, rest, rest_of_root;
  divide_qr(cpp_int(numerator << 2 * shift), denominator, quotient, rest);
  const cpp_int root = sqrt(quotient, rest_of_root);
  const bool is_more = rest != 0 || rest_of_root != 0;
  return rounded_quotient(root * 2 + (is_more ? 1 : 0), 1, unit - shift - 1);
}

}  // namespace

Moments::Sums& Moments::sums_of(std::uint64_t exponent) {
  if (places_.empty()) places_.assign(kNumExponents, kUnused);
  std::uint16_t& place = places_[exponent];
  if (place == kUnused) {
    place = static_cast<std::uint16_t>(sums_.size());
    sums_.emplace_back();
  }
  return sums_[place];
}

void Moments::add(double value) {
  const BinaryNumber number(value);
  Sums& sums = sums_of(number.exponent);
  const Wide square = Wide{number.mantissa} * number.mantissa;
  sums.values += number.is_negative ? -Wide{number.mantissa} : Wide{number.mantissa};
  sums.squares_low += static_cast<std::uint64_t>(square);
  sums.squares_high += square >> 64;
  ++count_;
}

void Moments::remove(double value) {
  const BinaryNumber number(value);
  Sums& sums = sums_of(number.exponent);
  const Wide square = Wide{number.mantissa} * number.mantissa;
  sums.values -= number.is_negative ? -Wide{number.mantissa} : Wide{number.mantissa};
  sums.squares_low -= static_cast<std::uint64_t>(square);
  sums.squares_high -= square >> 64;
  --count_;
}

// f(exponent, sums) in ascending order, of those that are not all zero.
template <typename F>
void Moments::for_each_exponent(F&& f) const {
  for (std::size_t exponent = 0; exponent < places_.size(); ++exponent) {
    if (places_[exponent] == kUnused) continue;
    const Sums& sums = sums_[places_[exponent]];
    if (sums.squares_low != 0 || sums.squares_high != 0) f(exponent, sums);
  }
}

void Moments::add(const Moments& others) {
  others.for_each_exponent([&](std::uint64_t exponent, const Sums& more) {
    Sums& sums = sums_of(exponent);
    sums.values += more.values;
    sums.squares_low += more.squares_low;
    sums.squares_high += more.squares_high;
  });
  count_ += others.count_;
}

double Moments::mean(bool to_float32) const {
  if (count_ == 0) return 0;
  cpp_int total = 0;
  for_each_exponent([&](std::uint64_t exponent, const Sums& sums) {
    total += cpp_int(static_cast<__int128>(sums.values)) * (cpp_int(1) << shift_of(exponent));
  });
  return rounded_quotient(total, count_, kLowestExponent, to_float32);
}

// count^2 times the variance is count * (sum of squares) - (sum of values)^2.
double Moments::deviation() const {
  cpp_int total = 0, squares = 0;
  for_each_exponent([&](std::uint64_t exponent, const Sums& sums) {
    total += cpp_int(static_cast<__int128>(sums.values)) * (cpp_int(1) << shift_of(exponent));
    squares += ((cpp_int(sums.squares_high) << 64) + sums.squares_low) << 2 * shift_of(exponent);
  });
  const cpp_int count = count_;
  return count_ == 0 ? 0 : rounded_root(count * squares - total * total, count * count, kLowestExponent);
}

std::vector<std::uint64_t> Moments::words() const {
  std::vector<std::uint64_t> words;
  if (count_ == 0) return words;
  words.push_back(count_);
  for_each_exponent([&](std::uint64_t exponent, const Sums& sums) {
    words.push_back(exponent);
    for (const Wide sum : {sums.values, sums.squares_low, sums.squares_high}) {
      words.push_back(static_cast<std::uint64_t>(sum));
      words.push_back(static_cast<std::uint64_t>(sum >> 64));
    }
  });
  return words;
}

std::optional<Moments> Moments::of_words(std::span<const std::uint64_t> words) {
  Moments moments;
  if (words.empty()) return moments;
  const std::uint64_t count = words[0];
  if (count == 0 || count > kMostNumbers || (words.size() - 1) % kWordsOfExponent != 0) return std::nullopt;
  std::uint64_t next_exponent = 0;
  for (std::size_t at = 1; at < words.size(); at += kWordsOfExponent) {
    const auto sum = [&](std::size_t i) { return Wide{words[at + i + 1]} << 64 | words[at + i]; };
    const Sums sums = {.values = sum(1), .squares_low = sum(3), .squares_high = sum(5)};
    const Wide size = static_cast<__int128>(sums.values) < 0 ? -sums.values : sums.values;
    if (words[at] < next_exponent || words[at] >= kNumExponents || size > Wide{count} << 53 ||
        sums.squares_low > Wide{count} << 64 || sums.squares_high > Wide{count} << 42)
      return std::nullopt;
    next_exponent = words[at] + 1;
    moments.sums_of(words[at]) = sums;
  }
  moments.count_ = count;
  return moments;
}

}  // namespace culmen
