// What filters read of a leaf's LeafFields: all but the padding.
#pragma once

#include <algorithm>
#include <cstddef>

#include "index/leaf_fields.h"

namespace culmen::gpu {

inline constexpr std::size_t kLeafFieldsAlignment = 16;

// That many of the first bytes, a multiple of the alignment.
inline std::size_t filter_bytes(const LeafFields& fields) {
  if (fields.empty()) return 0;
  const std::size_t num_rows = fields.num_rows(), bitmap_bytes = (num_rows + 63) / 64 * sizeof(std::uint64_t);
  std::size_t end = sizeof(LeafFieldsHeader) + fields.num_gaps() * sizeof(AttributeGaps) +
                    fields.num_fields() * sizeof(FieldZone);
  for (const AttributeGaps& gaps : fields.gaps()) end = std::max(end, gaps.missing + bitmap_bytes);
  for (std::size_t f = 0; f < fields.num_fields(); ++f) {
    const FieldZone& zone = fields.zone(f);
    if (zone.missing != 0) end = std::max(end, zone.missing + bitmap_bytes);
    end = std::max(end, zone.values + num_rows * zone.key_bytes);
  }
  return (end + kLeafFieldsAlignment - 1) / kLeafFieldsAlignment * kLeafFieldsAlignment;
}

}  // namespace culmen::gpu
