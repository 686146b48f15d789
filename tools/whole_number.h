// Whole numbers on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <concepts>
#include <cstdint>
#include <limits>

namespace culmen::tools {

// Accepts decimal digits for a number from `least` to `most`. CLI11's own checks would read "010" as eight, and say
// that "ten" is not in a range whose end is printed with 309 digits.
CLI::Validator whole_number_from(std::uint64_t least, std::uint64_t most);

// For an option that is kept in a T: ->transform(whole_number<int>(1)).
template <std::integral T>
CLI::Validator whole_number(std::uint64_t least,
                            std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
  return whole_number_from(least, most);
}

}  // namespace culmen::tools
