#include "tools/whole_number.h"

#include <fmt/core.h>

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace culmen::tools {
namespace {

std::string excerpt(std::string_view text) {
  constexpr std::size_t kMaxBytes = 40;
  return text.size() <= kMaxBytes ? std::string(text) : fmt::format("{}...", text.substr(0, kMaxBytes));
}

std::string_view without_plus(std::string_view text) {
  return text.starts_with('+') ? text.substr(1) : text;
}

bool are_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

CLI::Validator whole_number_from(std::uint64_t least, std::uint64_t most) {
  // Rewrites the text without leading zeros, which CLI11 would read as octal.
  const auto read = [least, most](std::string& text) -> std::string {
    const std::string_view digits = without_plus(text);
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool too_large = are_digits(digits) && (error == std::errc::result_out_of_range || value > most);
    if (too_large)
      return fmt::format("expected a whole number of at most {}, found '{}'", most, excerpt(text));
    if (!are_digits(digits) || value < least)
      return fmt::format("expected a whole number of at least {}, found '{}'", least, excerpt(text));
    text = std::to_string(value);
    return {};
  };
  return CLI::Validator(read, "");
}

}  // namespace culmen::tools
