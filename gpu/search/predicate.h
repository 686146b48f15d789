// Goes through a packed predicate: which rows of a leaf pass it, and which children of a node some passing row may be
// below. Plain C++, for the device and for tests on the host.
#pragma once

#include "base/host_device.h"
#include "gpu/mirror/leaf_columns.h"
#include "gpu/search/attribute_bits.h"
#include "gpu/search/packed_predicate.h"
#include "index/child_zones.h"
#include "index/field_key.h"
#include "index/leaf_fields.h"
#include "index/node_layout.h"

namespace culmen::gpu {

// The first of some intervals, ascending, that does not end before x; num_intervals: there is none.
template <typename T>
CULMEN_HOST_DEVICE std::uint32_t first_reaching(const PackedInterval<T>* intervals,
                                                std::uint32_t num_intervals, T x) {
  std::uint32_t first = 0, end = num_intervals;
  while (first < end) {
    const std::uint32_t middle = (first + end) / 2;
    if (intervals[middle].maximum < x) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

// Whether some number of minimum .. maximum is in the test's intervals.
template <typename T>
CULMEN_HOST_DEVICE bool meets(const PackedPredicate& predicate, const PackedTest& test, T minimum,
                              T maximum) {
  const PackedInterval<T>* intervals = predicate.intervals<T>() + test.first_interval;
  const std::uint32_t found = first_reaching(intervals, test.num_intervals, minimum);
  return found < test.num_intervals && intervals[found].minimum <= maximum;
}

// passes(test) is the result of one test. Ends even if the program is damaged: the next test is always a later one.
template <typename Passes>
CULMEN_HOST_DEVICE bool run_predicate(const PackedPredicate& predicate, Passes&& passes) {
  std::uint32_t i = 0, next = 0;
  do {
    i = next;
    const PackedTest& test = predicate.tests()[i];
    next = passes(test) ? test.on_pass : test.on_fail;
  } while (next > i && !PackedTest::is_end(next));
  return next == PackedTest::kPass;
}

// The rows of a leaf.
template <typename T>
struct TestedLeaf {
  LeafColumns<T> rows = {};
  LeafFields fields;
  AttributeBits ranked_gaps = {};  // of the query: QueryRef::ranked_gaps

  CULMEN_HOST_DEVICE bool passes(const PackedPredicate& predicate, std::uint32_t row) const {
    return run_predicate(predicate, [&](const PackedTest& test) { return passes(predicate, test, row); });
  }

 private:
  CULMEN_HOST_DEVICE bool passes(const PackedPredicate& predicate, const PackedTest& test,
                                 std::uint32_t row) const {
    const auto column = static_cast<std::uint32_t>(test.column);
    switch (test.kind) {
      case PackedTest::Kind::attribute: {
        if (test.may_miss && fields.misses_attribute(column, row)) return test.passes_missing;
        const auto value = static_cast<double>(rows.value(column, row));
        return meets(predicate, test, value, value);
      }
      case PackedTest::Kind::field: {
        if (fields.misses_field(column, row)) return test.passes_missing;
        const std::int64_t key = fields.key(column, row);
        return meets(predicate, test, key, key);
      }
      case PackedTest::Kind::id:
        return meets(predicate, test, rows.id(row), rows.id(row));
      default:
        break;
    }
    for (std::uint32_t i = 0; i < fields.num_gaps(); ++i) {
      const AttributeGaps& gaps = fields.gap(i);
      if (ranked_gaps.has(gaps.attribute) && (fields.missing(gaps)[row / 64] >> row % 64 & 1) != 0)
        return false;
    }
    return true;
  }
};

// One child of a node.
struct TestedChild {
  NodeRef node;
  const ChildGaps* gaps;    // [num_attributes], read only if the index has gaps
  const ChildZones* zones;  // [num_fields]
  AttributeBits ranked_gaps;
  int child;

  CULMEN_HOST_DEVICE bool may_pass(const PackedPredicate& predicate) const {
    return run_predicate(predicate, [&](const PackedTest& test) { return may_pass(predicate, test); });
  }
  CULMEN_HOST_DEVICE ColumnSummary field(std::int32_t column) const {
    const ChildZones& of = zones[column];
    return {of.minimum[child], of.maximum[child], of.set[child], has(of.gaps.some_missing),
            has(of.gaps.some_present)};
  }
  // What is stored of it in a bounds row.
  CULMEN_HOST_DEVICE float bound(std::int32_t row) const {
    const BoundRow& bounds = node.bounds()[row];
    return bounds.bound_of(bounds.codes[child]);
  }

 private:
  CULMEN_HOST_DEVICE bool may_pass(const PackedPredicate& predicate, const PackedTest& test) const {
    switch (test.kind) {
      case PackedTest::Kind::attribute:
        if (test.may_miss && !has(gaps[test.column].some_present)) return test.passes_missing;
        if (test.may_miss && test.passes_missing && has(gaps[test.column].some_missing)) return true;
        return meets_bounds(predicate, test);
      case PackedTest::Kind::field: {
        const ChildZones& of = zones[test.column];
        if (!has(of.gaps.some_present)) return test.passes_missing;
        if (test.passes_missing && has(of.gaps.some_missing)) return true;
        return meets_keys(predicate, test, of.minimum[child], of.maximum[child], of.set[child]);
      }
      case PackedTest::Kind::id:  // the largest id is not known
        return first_reaching(predicate.intervals<std::int64_t>() + test.first_interval, test.num_intervals,
                              node.min_ids()[child]) < test.num_intervals;
      default:
        break;
    }
    for (std::int32_t word = 0; word < ranked_gaps.num_words; ++word) {
      const std::uint64_t bits = ranked_gaps.words[word];
      for (std::uint32_t i = 0; i < 64 && bits >> i != 0; ++i)
        if ((bits >> i & 1) != 0 && !has(gaps[word * 64 + static_cast<std::int32_t>(i)].some_present))
          return false;
    }
    return true;
  }

  CULMEN_HOST_DEVICE bool has(std::uint32_t children) const { return (children >> child & 1) != 0; }

  // Stored bounds cover stand-ins as well.
  CULMEN_HOST_DEVICE bool meets_bounds(const PackedPredicate& predicate, const PackedTest& test) const {
    const float maximum = bound(test.maximum_row), minimum = bound(test.minimum_row);
    const PackedIntervalBound* intervals = predicate.bounds() + test.first_bound;
    std::uint32_t first = 0, end = test.num_intervals;  // of the first that does not end below the minimum
    while (first < end) {
      const std::uint32_t middle = (first + end) / 2;
      if (intervals[middle].highest < minimum) {
        first = middle + 1;
      } else {
        end = middle;
      }
    }
    return first < test.num_intervals && !(intervals[first].lowest > maximum);
  }

  // As verdict_of_keys (query/predicate.h). Of a long list only the first keys are compared with the set.
  CULMEN_HOST_DEVICE static bool meets_keys(const PackedPredicate& predicate, const PackedTest& test,
                                            std::int64_t minimum, std::int64_t maximum, std::uint64_t set) {
    const PackedInterval<std::int64_t>* intervals = predicate.intervals<std::int64_t>() + test.first_interval;
    const std::uint32_t first = first_reaching(intervals, test.num_intervals, minimum);
    for (std::uint32_t i = first; i < test.num_intervals && intervals[i].minimum <= maximum; ++i) {
      if (i - first == kMostIntervalsOfZone) return true;
      const std::int64_t least = intervals[i].minimum < minimum ? minimum : intervals[i].minimum;
      const std::int64_t most = intervals[i].maximum < maximum ? intervals[i].maximum : maximum;
      if ((key_set_bits(least, most) & set) != 0) return true;
    }
    return false;
  }
};

}  // namespace culmen::gpu
