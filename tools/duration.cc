#include "tools/duration.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "culmen/error.h"

namespace culmen::tools {

std::chrono::milliseconds parse_duration(std::string_view text, std::string_view what) {
  using Milliseconds = std::chrono::milliseconds;
  constexpr std::array<std::pair<std::string_view, Milliseconds>, 4> kUnits = {
      {{"ms", Milliseconds(1)},
       {"s", std::chrono::seconds(1)},
       {"min", std::chrono::minutes(1)},
       {"h", std::chrono::hours(1)}}};
  constexpr Milliseconds kMost = std::chrono::hours(24);
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  const std::string_view given_unit = text.substr(static_cast<std::size_t>(behind - text.data()));
  for (const auto& [name, unit] : kUnits)
    if (error == std::errc() && given_unit == name && number <= kMost / unit) return number * unit;
  throw InvalidArgument(fmt::format(
      "{}: expected a whole number with its unit, 200ms, 5s, 2min or 1h, of at most 24h, found '{}'", what,
      text));
}

}  // namespace culmen::tools
