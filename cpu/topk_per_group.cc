#include "cpu/topk_per_group.h"

#include <bit>

namespace culmen {

GroupKey group_of(const Snapshot& snapshot, const ResolvedGroups& groups, std::uint64_t row) {
  const auto stride = static_cast<std::uint64_t>(snapshot.leaf_rows);
  const LeafFields fields = snapshot.leaf_fields(row / stride);
  const auto column = static_cast<std::size_t>(groups.column);
  const std::size_t position = row % stride;
  if (groups.is_attribute) {
    if (fields.misses_attribute(column, position)) return {0, true};
    return {std::bit_cast<std::int64_t>(snapshot.value(row, groups.column) + 0.0), false};
  }
  if (fields.misses_field(column, position)) return {0, true};
  return {fields.key(column, position), false};
}

}  // namespace culmen
