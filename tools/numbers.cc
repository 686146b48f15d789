#include "tools/numbers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/below_one.h"
#include "culmen/error.h"

namespace culmen::tools {

std::string recognisable(double value, ValueType type) {
  constexpr double kMaxExactInteger = 0x1p53;
  const double size = std::abs(value);
  if (size <= kMaxExactInteger && value == std::trunc(value)) return fmt::format("{:.0f}", value);
  const int least_digits = type == ValueType::float32 ? 7 : 9;
  const int digits_before_point =
      size >= 1 && size < kMaxExactInteger ? static_cast<int>(std::floor(std::log10(size))) + 1 : 0;
  return fmt::format("{:.{}g}", value, std::max(least_digits, digits_before_point + 2));
}

std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, 1, ',');
  return text;
}

std::string counted(std::uint64_t value, std::string_view noun, std::string_view plural) {
  if (value == 1) return fmt::format("1 {}", noun);
  return plural.empty() ? fmt::format("{} {}s", grouped(value), noun)
                        : fmt::format("{} {}", grouped(value), plural);
}

std::string in_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  constexpr std::array kUnits = {"bytes", "kB", "MB", "GB", "TB"};
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::string in_time(double microseconds) {
  if (microseconds < 999.5) return fmt::format("{:.3g} µs", microseconds);
  if (microseconds < 999.5e3) return fmt::format("{:.3g} ms", microseconds / 1e3);
  if (microseconds < 999.5e6) return fmt::format("{:.3g} s", microseconds / 1e6);
  return fmt::format("{:.0f} s", microseconds / 1e6);
}

std::string in_percent(double part, double whole) {
  const double percent = whole > 0 ? 100 * part / whole : 0;
  if (percent <= 0) return "0 %";
  // Two significant digits, however small; and one decimal, so that 99.9 does not become 100.
  const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(percent))), 1, 12);
  std::string digits = fmt::format("{:.{}f}", percent, decimals);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits + " %";
}

bool is_float32(double value) {
  return std::abs(value) <= FLT_MAX && static_cast<double>(static_cast<float>(value)) == value;
}

double parse_number(std::string_view text, std::string_view what) {
  std::string_view digits = text;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [behind, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc::invalid_argument || behind != end)
    throw InvalidArgument(fmt::format("{}: expected a number, found '{}'", what, text));
  if (error == std::errc::result_out_of_range) {
    if (is_below_one(digits)) return 0;  // the nearest float64, as in a CSV file
    throw InvalidArgument(fmt::format("{}: {} is beyond the range of float64", what, text));
  }
  if (!std::isfinite(value)) throw InvalidArgument(fmt::format("{}: {} is not a finite number", what, text));
  return value;
}

}  // namespace culmen::tools
