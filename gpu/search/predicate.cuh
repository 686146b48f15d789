// Predicates on the device: tests of single rows.
#pragma once

#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/packed_predicate.h"
#include "gpu/search/packed_query.h"
#include "gpu/search/warp.cuh"
#include "index/leaf_fields.h"

namespace culmen::gpu {

// The first of some intervals, ascending, that does not end before x; num_intervals: there is none.
template <typename T>
__device__ std::uint32_t first_reaching(const PackedInterval<T>* intervals, std::uint32_t num_intervals,
                                        T x) {
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
__device__ bool meets(const PackedPredicate& predicate, const PackedTest& test, T minimum, T maximum) {
  const PackedInterval<T>* intervals = predicate.intervals<T>() + test.first_interval;
  const std::uint32_t found = first_reaching(intervals, test.num_intervals, minimum);
  return found < test.num_intervals && intervals[found].minimum <= maximum;
}

// Goes through a predicate. passes(test) is the result of one test. Ends even if the program is damaged: the next test
// is always a later one.
template <typename Passes>
__device__ bool run_predicate(const PackedPredicate& predicate, Passes&& passes) {
  std::uint32_t i = 0, next = 0;
  do {
    i = next;
    const PackedTest& test = predicate.tests()[i];
    next = passes(test) ? test.on_pass : test.on_fail;
  } while (next > i && !PackedTest::is_end(next));
  return next == PackedTest::kPass;
}

// The rows of a leaf, for tests.
template <typename T>
struct TestedLeaf {
  const T* values;  // [num_attributes][stride]
  const std::int64_t* ids;
  LeafFields fields;
  std::uint32_t stride;
  std::uint64_t ranked_gaps;

  __device__ bool passes(const PackedPredicate& predicate, const PackedTest& test, std::uint32_t row) const {
    const auto column = static_cast<std::uint32_t>(test.column);
    switch (test.kind) {
      case PackedTest::Kind::attribute: {
        if (test.may_miss && fields.misses_attribute(column, row)) return test.passes_missing;
        const auto value = static_cast<double>(values[column * stride + row]);
        return meets(predicate, test, value, value);
      }
      case PackedTest::Kind::field: {
        if (fields.misses_field(column, row)) return test.passes_missing;
        const std::int64_t key = fields.key(column, row);
        return meets(predicate, test, key, key);
      }
      case PackedTest::Kind::id:
        return meets(predicate, test, ids[row], ids[row]);
      default:
        break;
    }
    for (std::uint32_t i = 0; i < fields.num_gaps(); ++i) {
      const AttributeGaps& gaps = fields.gap(i);
      if ((ranked_gaps >> gaps.attribute & 1) != 0 && (fields.missing(gaps)[row / 64] >> row % 64 & 1) != 0)
        return false;
    }
    return true;
  }
};

// Parameters are registers: a reference to a kernel's parameter would be a copy in local memory.
template <typename T>
__device__ __noinline__ unsigned passing_rows(const PackedPredicate* predicate, std::uint64_t ranked_gaps,
                                              const T* values, const std::int64_t* ids,
                                              const std::byte* fields, std::uint32_t stride,
                                              std::uint32_t first, unsigned candidates) {
  const TestedLeaf<T> leaf = {values, ids, LeafFields(fields), stride, ranked_gaps};
  unsigned passing = 0;
  for (unsigned left = candidates; left != 0; left &= left - 1) {
    const auto j = static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1);
    const std::uint32_t row = first + j * kWarpSize;
    if (run_predicate(*predicate, [&](const PackedTest& test) { return leaf.passes(*predicate, test, row); }))
      passing |= 1u << j;
  }
  return passing;
}

// By a lane: which of the rows first + 32 j of a leaf, for the bits j of `candidates`, pass the query's predicate.
// There must be one.
template <typename T>
__device__ unsigned passing_rows(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf,
                                 std::uint32_t first, unsigned candidates) {
  const PackedHeader& header = query.header();
  return passing_rows<T>(header.predicate, header.ranked_gaps, mirror.leaf_values<T>(leaf),
                         mirror.ids + mirror.first_row(leaf),
                         mirror.leaf_fields == nullptr ? nullptr : mirror.leaf_fields[leaf],
                         static_cast<std::uint32_t>(mirror.leaf_rows), first, candidates);
}

}  // namespace culmen::gpu
