#include "query/row_groups.h"

#include <bit>

#include "index/snapshot.h"

namespace culmen {

GroupKey ResolvedGroups::of(const Snapshot& snapshot, std::uint64_t row) const {
  const auto stride = static_cast<std::uint64_t>(snapshot.leaf_rows);
  const LeafFields fields = snapshot.leaf_fields(row / stride);
  const auto of_leaf = static_cast<std::size_t>(column);
  const std::size_t position = row % stride;
  if (is_attribute) {
    if (fields.misses_attribute(of_leaf, position)) return {0, true};
    return {std::bit_cast<std::int64_t>(snapshot.value(row, column) + 0.0), false};
  }
  if (fields.misses_field(of_leaf, position)) return {0, true};
  return {fields.key(of_leaf, position), false};
}

}  // namespace culmen
