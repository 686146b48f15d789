// Where the numbers of texts lie when nothing is known but their order: apart by equal distances, in the middle
// half of int64, so that there is room between any two, before the first and after the last.
#pragma once

#include <cstdint>

namespace culmen {

// Of the text at `position` among `count` distinct ones. Ascends with the position.
constexpr std::int64_t spread_id(std::uint64_t position, std::uint64_t count) {
  constexpr unsigned __int128 kWidth = static_cast<unsigned __int128>(1) << 63;
  const auto within = static_cast<std::uint64_t>((2 * static_cast<unsigned __int128>(position) + 1) * kWidth /
                                                 (2 * static_cast<unsigned __int128>(count)));
  return static_cast<std::int64_t>(within) - (std::int64_t{1} << 62);
}

}  // namespace culmen
