#include "index/build/kd_halves.h"

namespace culmen {

std::optional<double> middle_cut(std::span<const double> sorted) {
  // A cut leaves at least this share of the values on either side.
  constexpr std::size_t kMinShare = 16;
  const std::size_t min_side = std::max<std::size_t>(1, sorted.size() / kMinShare);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  // Values equal to the median are on one side, whichever is more even.
  const auto first = std::lower_bound(sorted.begin(), middle, *middle);
  const auto after = std::upper_bound(middle, sorted.end(), *middle);
  const auto smaller_side = [&](auto cut) { return std::min(cut - sorted.begin(), sorted.end() - cut); };
  const auto cut = smaller_side(first) >= smaller_side(after) ? first : after;
  if (smaller_side(cut) < static_cast<std::ptrdiff_t>(min_side)) return std::nullopt;
  return *cut;
}

}  // namespace culmen
