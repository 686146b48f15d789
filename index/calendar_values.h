// Which numbers are dates and timestamps: those that text and other libraries have, too (base/calendar.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/calendar.h"
#include "base/number_text.h"
#include "culmen/schema.h"

namespace culmen {

inline bool holds_times(ColumnType type) {
  return type == ColumnType::date || type == ColumnType::timestamp;
}

// Of the values of any other type all are.
template <typename T>
bool is_in_calendar(ColumnType type, T value) {
  if (!holds_times(type)) return true;
  if constexpr (std::is_floating_point_v<T>)
    if (std::trunc(value) != value || value < T{-0x1p63} || value >= T{0x1p63}) return false;
  const auto whole = static_cast<std::int64_t>(value);
  return type == ColumnType::date ? is_day(whole) : is_moment(whole);
}

// Of a value that is not.
template <typename T>
std::string fault_in_calendar(ColumnType type, T value) {
  std::string text;
  if constexpr (std::is_floating_point_v<T>) {
    text = number_text(static_cast<double>(value));
    if (std::trunc(value) != value)
      return text + (type == ColumnType::date ? " is no whole number of days"
                                              : " is no whole number of units of time");
  } else {
    text = std::to_string(value);
  }
  if (type == ColumnType::date)
    return text + " days since 1970 are beyond the dates, which end with the year 5881580";
  return text + " units of time are no timestamp: from -2^63 + 1 to 2^63 - 1 are, and -2^63 is NumPy's NaT";
}

}  // namespace culmen
