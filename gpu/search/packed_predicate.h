// A predicate as kernels read it: one piece of device memory, which queries with equal filters share.
//
// It is a branching program. A test says at which test to go on if a row passes it, and at which if not; both are after
// it. So `and` and `or` of any depth need no stack, and no test is made whose result cannot matter. With a test of
// "may any row of this child pass" in place of "does this row pass", the same program tells which children of a node to
// skip.
//
// Only kernels of some kinds have the calls (QueryKind in packed_query.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace culmen::gpu {

struct PackedTest {
  enum class Kind : std::uint8_t {
    attribute,
    field,
    id,
    has_ranked,  // no attribute of QueryRef::ranked_gaps is missing
  };
  static constexpr std::uint32_t kPass = 0xffffffff, kFail = 0xfffffffe;  // instead of a next test

  Kind kind = Kind::attribute;
  bool passes_missing = false;  // of attributes and fields
  bool may_miss = false;        // of attributes: whether gaps must be read
  std::int32_t column = 0;
  std::uint32_t on_pass = kPass, on_fail = kFail;
  std::uint32_t first_interval = 0, num_intervals = 0;
  std::uint32_t first_bound = 0;  // of attributes: of num_intervals in bound units
  std::int16_t maximum_row = 0, minimum_row = 0;

  CULMEN_HOST_DEVICE static constexpr bool is_end(std::uint32_t next) { return next >= kFail; }
};
static_assert(sizeof(PackedTest) == 32);

template <typename T>
struct PackedInterval {
  T minimum, maximum;
};

// Of an attribute, in bound units: a node with a maximum below `lowest` or a minimum above `highest` has no value in
// the interval.
struct PackedIntervalBound {
  float lowest, highest;
};

// Followed by tests, at least one; intervals, of double or int64 as their test says; and interval bounds.
struct PackedPredicate {
  std::uint32_t num_tests, num_intervals;

  CULMEN_HOST_DEVICE const PackedTest* tests() const { return reinterpret_cast<const PackedTest*>(this + 1); }
  template <typename T>
  CULMEN_HOST_DEVICE const PackedInterval<T>* intervals() const {
    return reinterpret_cast<const PackedInterval<T>*>(tests() + num_tests);
  }
  CULMEN_HOST_DEVICE const PackedIntervalBound* bounds() const {
    return reinterpret_cast<const PackedIntervalBound*>(intervals<double>() + num_intervals);
  }
};
static_assert(sizeof(PackedPredicate) == 8);

}  // namespace culmen::gpu
