// Sets of numbers as closed intervals: of double, the values of an attribute, or of int64, ids and keys of fields. Both
// are discrete, so that `x < 5` is the interval up to the number before 5, and the complement of closed intervals is
// closed intervals again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "culmen/filter.h"
#include "query/literal.h"

namespace culmen {

template <typename T>
struct Interval {
  T minimum, maximum;

  friend bool operator==(const Interval&, const Interval&) = default;
};

// Ascending, disjoint, not adjacent.
template <typename T>
using Intervals = std::vector<Interval<T>>;

template <typename T>
struct IntervalDomain;

template <>
struct IntervalDomain<double> {
  static constexpr double kLowest = -std::numeric_limits<double>::infinity();
  static constexpr double kHighest = std::numeric_limits<double>::infinity();
  static double before(double x) { return std::nextafter(x, kLowest); }
  static double after(double x) { return std::nextafter(x, kHighest); }

  // The largest double that is not above the literal, and the smallest that is not below it.
  static std::optional<double> at_most(const Literal& literal) {
    const double nearest = nearest_double(literal);
    return is_above(nearest, literal) ? before(nearest) : nearest;
  }
  static std::optional<double> at_least(const Literal& literal) {
    const double below = *at_most(literal);
    return is_below(below, literal) ? after(below) : below;
  }

 private:
  // Exact comparisons of an integer with the double that is nearest to it, or the one before. A double is neither above
  // nor below itself.
  static bool is_above(double x, const Literal& wanted) {
    if (const auto* large = std::get_if<LargeInteger>(&wanted))
      return x >= 0x1p64 || static_cast<std::uint64_t>(x) > large->value;
    const auto* integer = std::get_if<std::int64_t>(&wanted);
    return integer != nullptr && (x >= 0x1p63 || static_cast<std::int64_t>(x) > *integer);
  }
  static bool is_below(double x, const Literal& wanted) {
    if (const auto* large = std::get_if<LargeInteger>(&wanted))
      return x < 0x1p64 && static_cast<std::uint64_t>(x) < large->value;
    const auto* integer = std::get_if<std::int64_t>(&wanted);
    return integer != nullptr && x < 0x1p63 && static_cast<std::int64_t>(x) < *integer;
  }
};

template <>
struct IntervalDomain<std::int64_t> {
  static constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  static std::int64_t before(std::int64_t x) { return x == kLowest ? x : x - 1; }
  static std::int64_t after(std::int64_t x) { return x == kHighest ? x : x + 1; }

  // None: no integer is so small, or so large.
  static std::optional<std::int64_t> at_most(const Literal& literal) {
    if (const std::int64_t* value = std::get_if<std::int64_t>(&literal)) return *value;
    if (const LargeInteger* large = std::get_if<LargeInteger>(&literal))
      return fits(*large) ? static_cast<std::int64_t>(large->value) : kHighest;
    const double value = std::floor(std::get<double>(literal));
    if (value < -0x1p63) return {};
    return value >= 0x1p63 ? kHighest : static_cast<std::int64_t>(value);
  }
  static std::optional<std::int64_t> at_least(const Literal& literal) {
    if (const std::int64_t* value = std::get_if<std::int64_t>(&literal)) return *value;
    if (const LargeInteger* large = std::get_if<LargeInteger>(&literal))
      return fits(*large) ? std::optional(static_cast<std::int64_t>(large->value)) : std::nullopt;
    const double value = std::ceil(std::get<double>(literal));
    if (value >= 0x1p63) return {};
    return value < -0x1p63 ? kLowest : static_cast<std::int64_t>(value);
  }

 private:
  static bool fits(const LargeInteger& integer) { return integer.value <= std::uint64_t{kHighest}; }
};

template <typename T>
Intervals<T> all_numbers() {
  return {{IntervalDomain<T>::kLowest, IntervalDomain<T>::kHighest}};
}

template <typename T>
bool is_all(const Intervals<T>& intervals) {
  return intervals.size() == 1 && intervals[0].minimum == IntervalDomain<T>::kLowest &&
         intervals[0].maximum == IntervalDomain<T>::kHighest;
}

template <typename T>
Intervals<T> complement(const Intervals<T>& intervals) {
  using Domain = IntervalDomain<T>;
  Intervals<T> result;
  T next = Domain::kLowest;  // the first number that is not decided yet
  for (const Interval<T>& interval : intervals) {
    if (next < interval.minimum) result.push_back({next, Domain::before(interval.minimum)});
    if (interval.maximum == Domain::kHighest) return result;
    next = Domain::after(interval.maximum);
  }
  result.push_back({next, Domain::kHighest});
  return result;
}

template <typename T>
Intervals<T> intersection(const Intervals<T>& a, const Intervals<T>& b) {
  Intervals<T> result;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const Interval<T> both = {std::max(x->minimum, y->minimum), std::min(x->maximum, y->maximum)};
    if (both.minimum <= both.maximum) result.push_back(both);
    ++(x->maximum < y->maximum ? x : y);
  }
  return result;
}

template <typename T>
Intervals<T> set_union(const Intervals<T>& a, const Intervals<T>& b) {
  return complement(intersection(complement(a), complement(b)));
}

// The interval, if there is one, that holds the first number of the set that is not below x. Set: Intervals<T>, or a
// span of it.
template <typename Set, typename T>
auto first_reaching(const Set& intervals, T x) {
  return std::partition_point(intervals.begin(), intervals.end(),
                              [x](const Interval<T>& interval) { return interval.maximum < x; });
}

// The intervals that numbers from minimum to maximum can be in.
template <typename T>
std::span<const Interval<T>> overlapping(std::span<const Interval<T>> intervals, T minimum, T maximum) {
  const auto first = first_reaching(intervals, minimum);
  const auto last = std::partition_point(
      first, intervals.end(), [maximum](const Interval<T>& interval) { return interval.minimum <= maximum; });
  return {first, last};
}

template <typename Set, typename T>
bool contains(const Set& intervals, T x) {
  const auto found = first_reaching(intervals, x);
  return found != intervals.end() && found->minimum <= x;
}

// Where a literal is among the numbers: the largest that is not above it, and the smallest that is not below it. None: no
// number is so small, or so large.
template <typename T>
struct Limits {
  std::optional<T> at_most, at_least;
};

// Of a literal that is a number.
template <typename T>
Limits<T> limits_of_number(const Literal& literal) {
  return {IntervalDomain<T>::at_most(literal), IntervalDomain<T>::at_least(literal)};
}

template <typename T>
Intervals<T> numbers_up_to(const Limits<T>& literal) {
  return literal.at_most ? Intervals<T>{{IntervalDomain<T>::kLowest, *literal.at_most}} : Intervals<T>{};
}
template <typename T>
Intervals<T> numbers_from(const Limits<T>& literal) {
  return literal.at_least ? Intervals<T>{{*literal.at_least, IntervalDomain<T>::kHighest}} : Intervals<T>{};
}
template <typename T>
Intervals<T> numbers_equal_to(const Limits<T>& literal) {
  return intersection(numbers_up_to(literal), numbers_from(literal));
}

// Of numbers in any order.
template <typename T>
Intervals<T> points(std::vector<T> numbers) {
  std::ranges::sort(numbers);
  Intervals<T> result;
  for (const T number : numbers) {
    const bool joins = !result.empty() && IntervalDomain<T>::after(result.back().maximum) >= number;
    if (joins) {
      result.back().maximum = std::max(result.back().maximum, number);
    } else {
      result.push_back({number, number});
    }
  }
  return result;
}

template <typename T>
Intervals<T> numbers_in(std::span<const Limits<T>> literals) {
  std::vector<T> numbers;
  for (const Limits<T>& literal : literals)
    for (const Interval<T>& point : numbers_equal_to(literal)) numbers.push_back(point.minimum + T{0});
  return points(std::move(numbers));
}

// The numbers that satisfy a comparison with literals. None satisfies `is null`.
template <typename T>
Intervals<T> numbers_that_satisfy(Comparison comparison, std::span<const Limits<T>> literals) {
  switch (comparison) {
    case Comparison::equal:
      return numbers_equal_to(literals[0]);
    case Comparison::not_equal:
      return complement(numbers_equal_to(literals[0]));
    case Comparison::less:
      return complement(numbers_from(literals[0]));
    case Comparison::less_equal:
      return numbers_up_to(literals[0]);
    case Comparison::greater:
      return complement(numbers_up_to(literals[0]));
    case Comparison::greater_equal:
      return numbers_from(literals[0]);
    case Comparison::between:
      return intersection(numbers_from(literals[0]), numbers_up_to(literals[1]));
    case Comparison::in:
      return numbers_in(literals);
    case Comparison::starts_with:
    case Comparison::is_null:
      return {};
    case Comparison::is_not_null:
      break;
  }
  return all_numbers<T>();
}

}  // namespace culmen
