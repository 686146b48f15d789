// Predicate: a filter compiled for a query, in the form that all CPU engines test.
//
// Negations are pushed down to the conditions. Conditions on the same column within one conjunction or disjunction are
// merged into one set of intervals. Tests that every value in the index passes, or none, are replaced by their result.
// What remains are conjunctions and disjunctions of set tests. In SQL a condition on NULL is unknown, and so is its
// negation; without negations, unknown can be treated as false, so every test simply fails for NULL.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "culmen/filter.h"
#include "index/snapshot.h"
#include "query/chain.h"
#include "query/intervals.h"

namespace culmen {

// An interval in bound units: a leaf or node with a maximum below `lowest` or a minimum above `highest` holds no value
// in the interval.
struct IntervalBound {
  float lowest;
  float highest;
};

struct Predicate {
  enum class Kind : std::uint8_t { everything, nothing, attribute, id, all_of, any_of };

  Kind kind = Kind::everything;
  // Kind::attribute: intervals of oriented values, the same in bound units, and the bounds rows to compare these with.
  std::int32_t attribute = 0;
  std::int32_t maximum_row = 0, minimum_row = 0;
  Intervals<double> values = {};
  std::vector<IntervalBound> bounds = {};
  Intervals<std::int64_t> ids = {};   // Kind::id
  std::vector<Predicate> parts = {};  // Kind::all_of and any_of: at least two

  bool is_everything() const { return kind == Kind::everything; }
  bool is_nothing() const { return kind == Kind::nothing; }
  std::size_t num_tests() const;
  // Whether it is a conjunction of at most one range per attribute: GPU engines can test nothing else.
  bool is_ranges() const;
};

// Throws InvalidArgument for NaN and for a column that the index does not have.
Predicate compile_filter(const Filter& filter, const Snapshot& snapshot);

// Returns ranges, at most one per attribute, in which all passing rows lie. If predicate.is_ranges(), every row in all
// of the ranges passes, too.
std::vector<RangePredicate> implied_ranges(const Predicate& predicate);

// What is known of a set of rows: none of them passes, all pass, or neither is certain (`some`).
enum class Verdict : std::uint8_t { none, some, all };

template <typename T>
Verdict verdict_of(const Intervals<T>& intervals, T minimum, T maximum) {
  const auto first = first_reaching(intervals, minimum);
  if (first == intervals.end() || first->minimum > maximum) return Verdict::none;
  return first->minimum <= minimum && maximum <= first->maximum ? Verdict::all : Verdict::some;
}

// `zone` describes a set of rows: minimum(attribute) and maximum(attribute), both oriented, and min_id().
template <typename Zone>
Verdict verdict_of(const Predicate& predicate, const Zone& zone) {
  switch (predicate.kind) {
    case Predicate::Kind::everything:
      return Verdict::all;
    case Predicate::Kind::nothing:
      return Verdict::none;
    case Predicate::Kind::attribute:
      return verdict_of(predicate.values, zone.minimum(predicate.attribute),
                        zone.maximum(predicate.attribute));
    case Predicate::Kind::id:  // the largest id is not known
      return verdict_of(predicate.ids, zone.min_id(), IntervalDomain<std::int64_t>::kHighest);
    default:
      break;
  }
  const bool is_conjunction = predicate.kind == Predicate::Kind::all_of;
  Verdict verdict = is_conjunction ? Verdict::all : Verdict::none;
  for (const Predicate& part : predicate.parts)
    verdict = is_conjunction ? std::min(verdict, verdict_of(part, zone))
                             : std::max(verdict, verdict_of(part, zone));
  return verdict;
}

// Whether one row passes, for callers that read row by row. value(i): the row's attribute i, oriented; id(): its id.
template <typename Value, typename Id>
bool passes(const Predicate& predicate, const Value& value, const Id& id) {
  const auto part_passes = [&](const Predicate& part) { return passes(part, value, id); };
  switch (predicate.kind) {
    case Predicate::Kind::everything:
      return true;
    case Predicate::Kind::nothing:
      return false;
    case Predicate::Kind::attribute:
      return contains(predicate.values, static_cast<double>(value(predicate.attribute)));
    case Predicate::Kind::id:
      return contains(predicate.ids, id());
    case Predicate::Kind::all_of:
      return std::ranges::all_of(predicate.parts, part_passes);
    case Predicate::Kind::any_of:
      break;
  }
  return std::ranges::any_of(predicate.parts, part_passes);
}

inline bool passes(const Snapshot& snapshot, const Predicate& predicate, std::uint64_t row) {
  return passes(
      predicate, [&](std::int32_t attribute) { return snapshot.value(row, attribute); },
      [&] { return snapshot.id(row); });
}

}  // namespace culmen
