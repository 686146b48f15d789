// LeafZone: what is known of a leaf without its rows, as verdict_of() asks for it. Gaps and fields are only read for tests
// that need them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "index/snapshot.h"
#include "query/predicate.h"

namespace culmen {

template <typename T>
struct LeafZone {
  LeafZone(const Snapshot& of, std::size_t which)
      : snapshot(of),
        leaf(which),
        maxima(of.zone_vector<T>(which, Extreme::maximum)),
        minima(of.zone_vector<T>(which, Extreme::minimum)) {}

  double maximum(std::int32_t attribute) const { return maxima[attribute]; }
  double minimum(std::int32_t attribute) const { return minima[attribute]; }
  std::int64_t min_id() const { return snapshot.leaf(leaf).min_id; }
  AttributeSummary attribute(std::int32_t i) const {
    const AttributeGaps* gaps = fields().gaps_of(static_cast<std::size_t>(i));
    if (gaps == nullptr) return {minimum(i), maximum(i), false, true};
    return {gaps->minimum, gaps->maximum, true, gaps->num_missing < snapshot.leaf(leaf).num_rows};
  }
  ColumnSummary field(std::int32_t i) const {
    const FieldZone& zone = fields().zone(static_cast<std::size_t>(i));
    return {zone.minimum, zone.maximum, zone.set, zone.num_missing > 0,
            zone.num_missing < snapshot.leaf(leaf).num_rows};
  }
  LeafFields fields() const { return snapshot.leaf_fields(leaf); }

  const Snapshot& snapshot;
  std::size_t leaf;
  const T *maxima, *minima;
};

}  // namespace culmen
