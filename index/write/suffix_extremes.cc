#include "index/write/suffix_extremes.h"

#include <algorithm>
#include <limits>

namespace culmen {
namespace {

template <typename T>
void include(SuffixExtremes& suffix, const T* highest, const T* lowest, std::int64_t min_id) {
  for (std::size_t i = 0; i < suffix.highest.size(); ++i) {
    suffix.highest[i] = std::max(suffix.highest[i], static_cast<double>(highest[i]));
    suffix.lowest[i] = std::min(suffix.lowest[i], static_cast<double>(lowest[i]));
  }
  suffix.min_id = std::min(suffix.min_id, min_id);
}

}  // namespace

SuffixExtremes::SuffixExtremes(std::size_t num_attributes)
    : highest(num_attributes, -std::numeric_limits<double>::infinity()),
      lowest(num_attributes, std::numeric_limits<double>::infinity()) {}

void SuffixExtremes::include(const SuffixExtremes& other) {
  culmen::include(*this, other.highest.data(), other.lowest.data(), other.min_id);
}

void SuffixExtremes::include_row(const Change& change, std::size_t row, std::size_t value_bytes) {
  for (std::size_t i = 0; i < highest.size(); ++i) {
    const double value = change.number(row, i, value_bytes);
    highest[i] = std::max(highest[i], value);
    lowest[i] = std::min(lowest[i], value);
  }
  min_id = std::min(min_id, change.ids[row]);
}

void SuffixExtremes::include_leaf(const Snapshot& s, std::uint32_t slot) {
  visit_value_type(s, [&]<typename T>(T) {
    culmen::include(*this, s.corner<T>(slot, Corner::maximum), s.corner<T>(slot, Corner::minimum),
                    s.leaf(slot).min_id);
  });
}

void SuffixExtremes::include_suffix_of(const Snapshot& s, std::uint32_t slot) {
  visit_value_type(s, [&]<typename T>(T) {
    culmen::include(*this, s.corner<T>(slot, Corner::suffix_maximum),
                    s.corner<T>(slot, Corner::suffix_minimum), s.leaf(slot).suffix_min_id);
  });
}

bool SuffixExtremes::is_covered_by_suffix_of(const Snapshot& s, std::uint32_t slot) const {
  if (min_id < s.leaf(slot).suffix_min_id) return false;
  return visit_value_type(s, [&]<typename T>(T) {
    const T* maxima = s.corner<T>(slot, Corner::suffix_maximum);
    const T* minima = s.corner<T>(slot, Corner::suffix_minimum);
    for (std::size_t i = 0; i < highest.size(); ++i)
      if (highest[i] > static_cast<double>(maxima[i]) || lowest[i] < static_cast<double>(minima[i]))
        return false;
    return true;
  });
}

void SuffixExtremes::leave_room_beyond(const Snapshot& s, std::uint32_t slot) {
  visit_value_type(s, [&]<typename T>(T) {
    constexpr double kMost = std::numeric_limits<T>::max();
    for (std::size_t i = 0; i < highest.size(); ++i) {
      const double own_highest = s.corner<T>(slot, Corner::maximum)[i];
      const double own_lowest = s.corner<T>(slot, Corner::minimum)[i];
      if (highest[i] > own_highest && highest[i] > s.corner<T>(slot, Corner::suffix_maximum)[i])
        highest[i] = std::min(kMost, highest[i] + (highest[i] - own_highest) / 2);
      if (lowest[i] < own_lowest && lowest[i] < s.corner<T>(slot, Corner::suffix_minimum)[i])
        lowest[i] = std::max(-kMost, lowest[i] - (own_lowest - lowest[i]) / 2);
    }
  });
  const std::int64_t own = s.leaf(slot).min_id;
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  if (min_id >= own || min_id >= s.leaf(slot).suffix_min_id) return;
  const std::uint64_t distance = static_cast<std::uint64_t>(own) - static_cast<std::uint64_t>(min_id);
  const std::uint64_t room = static_cast<std::uint64_t>(min_id) - static_cast<std::uint64_t>(kLeast);
  min_id -= static_cast<std::int64_t>(std::min(distance / 2, room));
}

}  // namespace culmen
