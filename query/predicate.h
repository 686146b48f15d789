// Predicate: a filter compiled for a query, in the form that all CPU engines test.
//
// Conditions are tests of one column: a set of values, as intervals, and whether a missing value passes. In SQL a
// comparison with NULL is unknown, and so is its negation. So negations are pushed down to the conditions, where they
// complement the set and missing values still fail; only `is null` and its negation decide about them. Without
// negations, unknown can be treated as false. Tests of the same column within one conjunction or disjunction are merged.
// Tests that every value in the index passes, or none, are replaced by their result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/key_bits.h"
#include "culmen/filter.h"
#include "culmen/id_set.h"
#include "index/snapshot.h"
#include "index/snapshot_fields.h"
#include "query/chain.h"
#include "query/id_bitmap.h"
#include "query/intervals.h"
#include "query/row_groups.h"

namespace culmen {

// An interval in bound units: a leaf or node with a maximum below `lowest` or a minimum above `highest` holds no value
// in the interval.
struct IntervalBound {
  float lowest;
  float highest;
};

// Sets of more intervals are not tested by comparing numbers with each: of those that have key_bits, and of others.
inline constexpr std::size_t kFewIntervals = 8, kMostComparedIntervals = 64;

struct Predicate {
  enum class Kind : std::uint8_t { everything, nothing, attribute, field, id, id_set, all_of, any_of };

  Kind kind = Kind::everything;
  // Of attributes and fields. Rows that miss the value pass. If no row of the index misses it, or if stand-ins pass or
  // fail as missing values should, may_miss is false, and engines need not ask which values are missing.
  bool passes_missing = false;
  bool may_miss = false;
  std::int32_t column = 0;  // the attribute or field
  // Kind::attribute: intervals of oriented values, the same in bound units, and the bounds rows to compare these with.
  std::int32_t maximum_row = 0, minimum_row = 0;
  Intervals<double> values = {};
  std::vector<IntervalBound> bounds = {};
  // Kind::field: of keys (index/field_key.h); Kind::id: of ids.
  Intervals<std::int64_t> keys = {};
  KeyBits key_bits = {};  // of more than kFewIntervals intervals, if they hold few keys
  // Kind::id_set: the ids that pass, or that do not.
  IdSet ids = {};
  bool passes_others = false;
  std::vector<Predicate> parts = {};  // Kind::all_of and any_of: at least two

  bool is_everything() const { return kind == Kind::everything; }
  bool is_nothing() const { return kind == Kind::nothing; }
  std::size_t num_tests() const;
  // Whether rows are tested by their fields or gaps.
  bool reads_fields() const;
  // Whether it is a conjunction of at most one range per attribute, which stored values alone decide.
  bool is_ranges() const;
  bool tests_id_sets() const;
};

// The filter, and that none of the `required` attributes is missing. Throws InvalidArgument for NaN, for a column that
// the index does not have or filters cannot test, and for a literal of another type than its column.
Predicate compile_filter(const Filter& filter, const Snapshot& snapshot,
                         std::span<const std::int32_t> required = {});

// That rows are in none of these groups.
Predicate in_none_of(std::span<const GroupKey> groups, const ResolvedGroups& column,
                     const Snapshot& snapshot);
// Of two that are compiled.
Predicate both(const Predicate& a, const Predicate& b);

// Returns ranges, at most one per attribute, in which all passing rows lie. If predicate.is_ranges(), every row in all
// of the ranges passes, too.
std::vector<RangePredicate> implied_ranges(const Predicate& predicate);

// What is known of a set of rows: none of them passes, all pass, or neither is certain (`some`).
enum class Verdict : std::uint8_t { none, some, all };

// Of numbers that lie between minimum and maximum.
template <typename T>
Verdict verdict_of(std::span<const Interval<T>> intervals, T minimum, T maximum) {
  const auto first = first_reaching(intervals, minimum);
  if (first == intervals.end() || first->minimum > maximum) return Verdict::none;
  return first->minimum <= minimum && maximum <= first->maximum ? Verdict::all : Verdict::some;
}

// Of keys in a zone that has some.
Verdict verdict_of_keys(std::span<const Interval<std::int64_t>> keys, const ColumnSummary& zone);

// Of rows of which some may miss the value, from the verdict of those that have one.
inline Verdict with_missing(Verdict of_present, bool some_present, bool some_missing, bool passes_missing) {
  if (!some_missing) return some_present ? of_present : Verdict::none;
  const Verdict of_missing = passes_missing ? Verdict::all : Verdict::none;
  return !some_present || of_present == of_missing ? of_missing : Verdict::some;
}

// Of rows whose smallest id is known. The set is not empty.
inline Verdict verdict_of_id_set(const Predicate& predicate, std::int64_t min_id) {
  if (min_id <= predicate.ids.bitmap().maximum()) return Verdict::some;
  return predicate.passes_others ? Verdict::all : Verdict::none;
}

// An attribute in a set of rows. Extremes are of the rows that have a value, oriented.
struct AttributeSummary {
  double minimum, maximum;
  bool some_missing, some_present;
};

// `zone` describes a set of rows: minimum(attribute) and maximum(attribute) of the stored values, min_id(), and, for
// columns that may miss values and for fields, attribute(i) as AttributeSummary and field(i) as ColumnSummary.
template <typename Zone>
Verdict verdict_of(const Predicate& predicate, const Zone& zone) {
  switch (predicate.kind) {
    case Predicate::Kind::everything:
      return Verdict::all;
    case Predicate::Kind::nothing:
      return Verdict::none;
    case Predicate::Kind::attribute: {
      if (!predicate.may_miss)
        return verdict_of<double>(predicate.values, zone.minimum(predicate.column),
                                  zone.maximum(predicate.column));
      const AttributeSummary of = zone.attribute(predicate.column);
      return with_missing(verdict_of<double>(predicate.values, of.minimum, of.maximum), of.some_present,
                          of.some_missing, predicate.passes_missing);
    }
    case Predicate::Kind::field: {
      const ColumnSummary of = zone.field(predicate.column);
      return with_missing(of.some_present ? verdict_of_keys(predicate.keys, of) : Verdict::none,
                          of.some_present, of.some_missing, predicate.passes_missing);
    }
    case Predicate::Kind::id:  // the largest id is not known
      return verdict_of<std::int64_t>(predicate.keys, zone.min_id(), IntervalDomain<std::int64_t>::kHighest);
    case Predicate::Kind::id_set:
      return verdict_of_id_set(predicate, zone.min_id());
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

// Whether one row passes, for callers that read row by row.
bool passes(const Snapshot& snapshot, const Predicate& predicate, std::uint64_t row);

}  // namespace culmen
