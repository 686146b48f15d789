// The chain bound of a node's child, and whether any row below it may pass the query's predicate.
#pragma once

#include "gpu/search/bounds.cuh"
#include "gpu/search/predicate.cuh"
#include "index/child_zones.h"

namespace culmen::gpu {

// The lane's child of a node, for tests.
struct TestedChild {
  NodeRef node;
  const ChildGaps* gaps;    // [num_attributes], read only if the index has gaps
  const ChildZones* zones;  // [num_fields]
  std::uint64_t ranked_gaps;
  int lane;

  __device__ bool may_pass(const PackedPredicate& predicate, const PackedTest& test) const {
    switch (test.kind) {
      case PackedTest::Kind::attribute:
        if (test.may_miss && !has(gaps[test.column].some_present)) return test.passes_missing;
        if (test.may_miss && test.passes_missing && has(gaps[test.column].some_missing)) return true;
        return meets_bounds(predicate, test);
      case PackedTest::Kind::field: {
        const ChildZones& of = zones[test.column];
        if (!has(of.gaps.some_present)) return test.passes_missing;
        if (test.passes_missing && has(of.gaps.some_missing)) return true;
        return meets_keys(predicate, test, of.minimum[lane], of.maximum[lane], of.set[lane]);
      }
      case PackedTest::Kind::id:  // the largest id is not known
        return first_reaching(predicate.intervals<std::int64_t>() + test.first_interval, test.num_intervals,
                              node.min_ids()[lane]) < test.num_intervals;
      default:
        break;
    }
    for (std::uint64_t left = ranked_gaps; left != 0; left &= left - 1)
      if (!has(gaps[__ffsll(static_cast<long long>(left)) - 1].some_present)) return false;
    return true;
  }

 private:
  __device__ bool has(std::uint32_t children) const { return (children >> lane & 1) != 0; }

  // Stored bounds cover stand-ins as well.
  __device__ bool meets_bounds(const PackedPredicate& predicate, const PackedTest& test) const {
    const NodeColumn bounds = {node.bounds(), lane};
    const float maximum = bounds[test.maximum_row], minimum = bounds[test.minimum_row];
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
  __device__ static bool meets_keys(const PackedPredicate& predicate, const PackedTest& test,
                                    std::int64_t minimum, std::int64_t maximum, std::uint64_t set) {
    constexpr std::uint32_t kMost = 64;
    const PackedInterval<std::int64_t>* intervals = predicate.intervals<std::int64_t>() + test.first_interval;
    const std::uint32_t first = first_reaching(intervals, test.num_intervals, minimum);
    for (std::uint32_t i = first; i < test.num_intervals && intervals[i].minimum <= maximum; ++i) {
      if (i - first == kMost) return true;
      if ((set_bits(max(intervals[i].minimum, minimum), min(intervals[i].maximum, maximum)) & set) != 0)
        return true;
    }
    return false;
  }

  // The bits of the keys first .. last, as key_set_bit.
  __device__ static std::uint64_t set_bits(std::int64_t first, std::int64_t last) {
    const std::uint64_t distance = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    if (distance >= 63) return ~std::uint64_t{0};
    const std::uint64_t bits = (std::uint64_t{2} << distance) - 1;
    const auto turn = static_cast<unsigned>(first) & 63;
    return bits << turn | bits >> (64 - turn & 63);
  }
};

// Parameters are registers, as of passing_rows.
__device__ __noinline__ inline bool child_may_pass(const PackedPredicate* predicate,
                                                   std::uint64_t ranked_gaps, const std::byte* node,
                                                   const std::byte* zones, std::int32_t num_attributes,
                                                   int lane) {
  const ChildZonesLayout layout = {static_cast<std::size_t>(num_attributes), 0};
  const TestedChild child = {{node},
                             reinterpret_cast<const ChildGaps*>(zones),
                             reinterpret_cast<const ChildZones*>(zones + layout.zones_offset()),
                             ranked_gaps,
                             lane};
  return run_predicate(*predicate, [&](const PackedTest& test) { return child.may_pass(*predicate, test); });
}

// The chain bound of the lane's child of a node; -infinity if there is no such child, or if no row below it passes the
// query's filter. kFiltered: as for score_row.
template <bool kFiltered>
__device__ double child_bound(const MirrorRef& mirror, QueryRef query, std::uint32_t index, int lane) {
  const NodeRef node = mirror.node(index);
  const double bound = chain_bound(query, NodeColumn{node.bounds(), lane});
  if (lane >= static_cast<int>(node.header().num_children)) return -infinity();
  if constexpr (kFiltered) {
    const PackedHeader& header = query.header();
    const std::byte* zones = mirror.child_zones + static_cast<std::size_t>(index) * mirror.child_zones_bytes;
    if (header.predicate != nullptr && bound != -infinity() &&
        !child_may_pass(header.predicate, header.ranked_gaps, node.bytes, zones, mirror.num_attributes, lane))
      return -infinity();
  }
  return bound;
}

}  // namespace culmen::gpu
