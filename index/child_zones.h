// What an inner node knows of its children besides bounds: which attributes they miss, and zones of filter columns.
// Beside the node in the arena and in files: computed from the leaves when an index is built or changed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"
#include "index/bound_row.h"
#include "index/leaf_fields.h"

namespace culmen {

// Bit c stands for child c: some row below it misses the column; some row below it has a value.
struct ChildGaps {
  std::uint32_t some_missing = 0;
  std::uint32_t some_present = 0;

  friend bool operator==(const ChildGaps&, const ChildGaps&) = default;
};

// Of one filter column: [child].
struct ChildZones {
  std::int64_t minimum[kFanOut] = {};  // of the keys; minimum > maximum: no row has a value
  std::int64_t maximum[kFanOut] = {};
  std::uint64_t set[kFanOut] = {};  // as FieldZone::set
  ChildGaps gaps;
};

// A node's: ChildGaps[num_attributes], then ChildZones[num_fields], of stored columns all zero.
struct ChildZonesLayout {
  std::size_t num_attributes = 0, num_fields = 0;

  CULMEN_HOST_DEVICE std::size_t zones_offset() const { return num_attributes * sizeof(ChildGaps); }
  std::size_t node_bytes() const { return zones_offset() + num_fields * sizeof(ChildZones); }
};

class ChildZonesRef {
 public:
  ChildZonesRef(const std::byte* bytes, const ChildZonesLayout& layout) : bytes_(bytes), layout_(layout) {}

  const std::byte* bytes() const { return bytes_; }
  const ChildGaps& gaps(std::size_t attribute) const {
    return reinterpret_cast<const ChildGaps*>(bytes_)[attribute];
  }
  const ChildZones& zones(std::size_t field) const {
    return reinterpret_cast<const ChildZones*>(bytes_ + layout_.zones_offset())[field];
  }

 private:
  const std::byte* bytes_;
  ChildZonesLayout layout_;
};

// Of a set of keys in many intervals, at most so many are compared with the bits of a zone. Of more that it reaches, one
// nearly always meets its bits.
inline constexpr std::size_t kMostIntervalsOfZone = 32;

// All rows below a node, for one column.
struct ColumnSummary {
  std::int64_t minimum, maximum;  // of the keys of a field; minimum > maximum: no row has a value
  std::uint64_t set;
  bool some_missing, some_present;
};

}  // namespace culmen
