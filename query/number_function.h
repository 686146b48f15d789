// NumberFunction: a function of numbers that is a term of a score, and its weight. docs/contract.md defines its values to the
// bit; host and device run this code. query/function_terms.h has the terms of a query.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/elementary.h"
#include "base/host_device.h"
#include "culmen/score_term.h"
#include "index/field_key.h"
#include "index/quantiles.h"

namespace culmen {

CULMEN_HOST_DEVICE constexpr bool is_decay(TermFunction function) {
  return function == TermFunction::decay_linear || function == TermFunction::decay_exp ||
         function == TermFunction::decay_gauss;
}

// Whether it falls on both sides of its origin; others rise.
CULMEN_HOST_DEVICE constexpr bool has_peak(TermFunction function) {
  return function == TermFunction::near || is_decay(function);
}

struct NumberFunction {
  TermFunction function;
  double weight;
  double origin, scale;
  bool is_field;
  std::int32_t column;      // the attribute or field
  bool negated = false;     // the attribute is stored with the other sign
  bool is_floating = true;  // the keys of the field are those of doubles
  double ticks = 1;         // of a unit of x: 1 / ticks is the unit of integer keys, and of an attribute
  double minimum = 0, maximum = 0;  // of the attribute as stored, over all rows that are ranked
  RankSteps curve = {};             // of TermFunction::rank

  CULMEN_HOST_DEVICE double of_stored(double stored) const { return (negated ? -stored : stored) / ticks; }
  CULMEN_HOST_DEVICE double of_key(std::int64_t key) const {
    return is_floating ? double_of_key(key) : static_cast<double>(key) / ticks;
  }
  CULMEN_HOST_DEVICE double value(double x) const;

  // Some rows have numbers from `first` to `last`, first <= last: the one that raises a score most.
  CULMEN_HOST_DEVICE double best_of(double first, double last) const;

  // How far other values there may lie beyond that of best_of(), in the direction that raises a score: so far as the
  // function is not monotone in its last bits.
  struct Margin {
    double part;  // of the value's size
    double least;
  };
  CULMEN_HOST_DEVICE Margin margin() const;
  CULMEN_HOST_DEVICE double with_margin(double best) const;
  // The value of best_of() and its margin.
  CULMEN_HOST_DEVICE double highest(double first, double last) const;
  // Of rows whose stored values are in that range.
  CULMEN_HOST_DEVICE double best_of_stored(double first, double last) const;
  CULMEN_HOST_DEVICE double highest_of_stored(double first, double last) const;
  // Of rows with keys in that range; 0 if first > last: no row has a value, nor passes the function's domain.
  CULMEN_HOST_DEVICE double highest_of_keys(std::int64_t first, std::int64_t last) const {
    return first > last ? 0 : highest(of_key(first), of_key(last));
  }

 private:
  CULMEN_HOST_DEVICE double at_distance(double distance) const;
};

CULMEN_HOST_DEVICE inline double NumberFunction::at_distance(double distance) const {
  const double scaled = distance / scale;
  switch (function) {
    case TermFunction::decay_linear:
      return std::fmax(0.0, 1 - scaled / 2);
    case TermFunction::decay_exp:
      return exp2_of_minus(scaled);
    default:
      return exp2_of_minus(scaled * scaled);
  }
}

CULMEN_HOST_DEVICE inline double NumberFunction::value(double x) const {
  switch (function) {
    case TermFunction::near:
      return -std::fabs(x - origin);
    case TermFunction::log:
      return log_of(x);
    case TermFunction::log1p:
      return log_of(1 + x);
    case TermFunction::sqrt:
      return std::sqrt(x);
    case TermFunction::saturate:
      return x / (x + scale);
    case TermFunction::rank:
      return curve(x);
    default:
      return at_distance(std::fabs(x - origin));
  }
}

CULMEN_HOST_DEVICE inline double NumberFunction::best_of(double first, double last) const {
  if (has_peak(function)) {
    if (weight > 0) return origin < first ? first : last < origin ? last : origin;
    return std::fabs(first - origin) > std::fabs(last - origin) ? first : last;
  }
  if (function == TermFunction::rank) return weight > 0 ? last : first;
  // What is outside of the domain is in no row that passes.
  const double least = function == TermFunction::log ? 0x1p-1074 : 0.0;
  return std::fmax(weight > 0 ? last : first, least);
}

CULMEN_HOST_DEVICE inline NumberFunction::Margin NumberFunction::margin() const {
  const bool is_monotone = function == TermFunction::near || function == TermFunction::decay_linear ||
                           function == TermFunction::sqrt || function == TermFunction::rank;
  if (is_monotone) return {0, 0};
  // More than half of the smallest number, which would do: arithmetic with numbers below 2^-1022 is slow.
  const double up = weight > 0 ? 1 : -1;
  return {up * 2 * kElementaryError, up * 0x1p-1020};
}

CULMEN_HOST_DEVICE inline double NumberFunction::highest(double first, double last) const {
  return with_margin(value(best_of(first, last)));
}

CULMEN_HOST_DEVICE inline double NumberFunction::with_margin(double best) const {
  if (!(std::fabs(best) < HUGE_VAL)) return best;  // a margin of 0 of it is no number
  const Margin most = margin();
  return best + (most.part * std::fabs(best) + most.least);
}

CULMEN_HOST_DEVICE inline double NumberFunction::best_of_stored(double first, double last) const {
  const double a = of_stored(first), b = of_stored(last);
  return negated ? best_of(b, a) : best_of(a, b);
}

CULMEN_HOST_DEVICE inline double NumberFunction::highest_of_stored(double first, double last) const {
  const double a = of_stored(first), b = of_stored(last);
  return negated ? highest(b, a) : highest(a, b);
}

}  // namespace culmen
