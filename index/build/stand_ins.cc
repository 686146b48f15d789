#include "index/build/stand_ins.h"

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>

#include "base/number_text.h"
#include "culmen/error.h"
#include "index/snapshot.h"

namespace culmen {
namespace {

using boost::multiprecision::cpp_int;

constexpr int kLowestExponent = -1074;  // every float64 is a multiple of 2^this

// The sum of float64 numbers, in units of 2^kLowestExponent.
class ExactSum {
 public:
  void add(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t exponent = bits >> 52 & 0x7ff;
    const auto fraction = static_cast<std::int64_t>(bits & ((std::uint64_t{1} << 52) - 1));
    const std::int64_t mantissa = exponent == 0 ? fraction : fraction | std::int64_t{1} << 52;
    sums_[exponent] += bits >> 63 != 0 ? -mantissa : mantissa;
  }

  cpp_int total() const {
    cpp_int total = 0;
    for (std::size_t exponent = 0; exponent < sums_.size(); ++exponent)
      if (sums_[exponent] != 0) {
        cpp_int part = sums_[exponent] < 0 ? cpp_int(-sums_[exponent]) : cpp_int(sums_[exponent]);
        part <<= exponent == 0 ? 0 : exponent - 1;
        total += sums_[exponent] < 0 ? cpp_int(-part) : part;
      }
    return total;
  }

 private:
  std::vector<__int128> sums_ = std::vector<__int128>(2048);  // by exponent; 2^74 mantissas fit
};

// numerator / count * 2^kLowestExponent, rounded to nearest, ties to even.
double rounded_quotient(cpp_int numerator, std::uint64_t count, bool to_float32) {
  const bool is_negative = numerator < 0;
  if (is_negative) numerator = -numerator;
  if (numerator == 0) return 0;
  const int precision = to_float32 ? 24 : 53;
  const int lowest = to_float32 ? -149 : -1074;  // exponent of the smallest number
  // The quotient has at least so many bits, in units of 2^kLowestExponent.
  const int bits = static_cast<int>(msb(numerator)) - static_cast<int>(std::bit_width(count)) + 1;
  // Of the last bit that is kept. At first a bit or two too many are.
  int exponent = std::max(bits - precision + kLowestExponent, lowest);
  for (;; ++exponent) {
    const int shift = exponent - kLowestExponent;
    const cpp_int divisor = cpp_int(count) << shift;
    cpp_int quotient, rest;
    divide_qr(numerator, divisor, quotient, rest);
    if (quotient >= cpp_int(1) << precision) continue;
    const cpp_int twice = rest * 2;
    if (twice > divisor || (twice == divisor && bit_test(quotient, 0))) ++quotient;
    const double result = std::ldexp(quotient.convert_to<double>(), exponent);
    return is_negative ? -result : result;
  }
}

// As stored.
std::vector<double> present_values(const ColumnView& column, std::uint64_t num_rows, bool to_float32) {
  std::vector<double> values(num_rows);
  std::vector<std::uint64_t> rows(num_rows);
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  gather_column(column, Preference::high, rows, values.data());
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (to_float32)
    for (double& value : values) value = static_cast<float>(value);
  return values;
}

double given_number(const Attribute& attribute, ValueType type) {
  const double stored = type == ValueType::float32 ? static_cast<float>(attribute.number) : attribute.number;
  if (!std::isfinite(stored))
    throw InvalidArgument("attribute \"" + attribute.name + "\": " + number_text(attribute.number) +
                          " cannot stand in for missing values");
  return stored;
}

double stand_in(const TableView& table, std::size_t i, const TableStats& stats) {
  const Attribute& attribute = table.attributes[i];
  const bool to_float32 = stats.value_type == ValueType::float32;
  switch (attribute.stand_in) {
    case StandIn::number:
      return oriented(given_number(attribute, stats.value_type), attribute.preference);
    case StandIn::median:
    case StandIn::mean: {
      std::vector<double> values = present_values(table.columns[i], table.num_rows, to_float32);
      if (values.empty()) return 0;
      const double value = attribute.stand_in == StandIn::mean ? exact_mean(values, to_float32)
                                                               : exact_median(std::move(values), to_float32);
      return oriented(value, attribute.preference);
    }
    case StandIn::worst:
    case StandIn::refuse:
      break;
  }
  return stats.attributes[i].minimum;
}

}  // namespace

double exact_mean(std::span<const double> values, bool to_float32) {
  ExactSum sum;
  for (const double value : values) sum.add(value);
  return rounded_quotient(sum.total(), values.size(), to_float32);
}

double exact_median(std::vector<double> values, bool to_float32) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  const double upper = *middle;
  if (values.size() % 2 == 1) return to_float32 ? static_cast<float>(upper) : upper;
  const double two[] = {*std::max_element(values.begin(), middle), upper};
  return exact_mean(two, to_float32);
}

std::vector<double> stand_ins_of(const TableView& table, const TableStats& stats) {
  std::vector<double> result;
  for (std::size_t i = 0; i < table.attributes.size(); ++i) result.push_back(stand_in(table, i, stats));
  return result;
}

}  // namespace culmen
