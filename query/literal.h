// Numbers that conditions and terms compare with.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "culmen/filter.h"

namespace culmen {

inline bool is_number(const Literal& literal) {
  return !std::holds_alternative<std::string>(literal);
}

// The nearest float64 of a literal that is a number.
inline double nearest_double(const Literal& literal) {
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) return static_cast<double>(*integer);
  if (const auto* large = std::get_if<LargeInteger>(&literal)) return static_cast<double>(large->value);
  return std::get<double>(literal);
}

}  // namespace culmen
