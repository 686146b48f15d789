#include "index/build/load_steps.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"
#include "culmen/error.h"
#include "index/build/leaf_cut.h"
#include "index/build/usual_ranges.h"
#include "index/leaf_bounds.h"

namespace culmen {
namespace {

// The smallest for which bounds of 8 attributes and free room take a quarter of the data at most.
constexpr int kDefaultLeafRows = 96;
}  // namespace

int checked_leaf_rows(int wanted) {
  if (wanted == 0) return kDefaultLeafRows;
  if (wanted < 16 || wanted > kMaxLeafRows || wanted % 16 != 0)
    throw InvalidArgument("leaf_rows is " + std::to_string(wanted) +
                          "; it must be a multiple of 16 from 16 to " + std::to_string(kMaxLeafRows));
  return wanted;
}

std::shared_ptr<Snapshot> start_snapshot(const FilledTable& filled, const BuildOptions& options,
                                         std::int64_t next_id) {
  const TableView& table = filled.view();
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->leaf_rows = checked_leaf_rows(options.leaf_rows);
  snapshot->attributes = table.attributes;
  snapshot->fields = table.fields;
  snapshot->id_name = table.id_name;
  snapshot->label_name = table.label_name;
  snapshot->id_type = table.id_type;
  snapshot->dictionaries.resize(table.fields.size());
  snapshot->value_type = filled.stats().value_type;
  snapshot->rounded_values = filled.stats().rounded_values;
  snapshot->stats = filled.stats().attributes;
  snapshot->stand_ins = filled.stand_ins();
  snapshot->num_rows = table.num_rows;
  snapshot->next_id = next_id;
  snapshot->has_labels = !table.labels.empty() || table.id_type == IdType::text;
  snapshot->layout = BoundLayout(snapshot->num_attributes());
  for (const AttributeStats& range : usual_ranges(*snapshot, table))
    snapshot->units.push_back(bound_unit(range, snapshot->layout.is_wide()));
  snapshot->exact_sums = sums_are_exact(filled.filled_stats(), snapshot->units);
  return snapshot;
}

std::vector<PartitionRange> partition_ranges(std::span<const std::uint64_t> first_rows, int leaf_rows) {
  std::vector<PartitionRange> partitions(first_rows.size() - 1);
  std::uint32_t first_leaf = 0;
  for (std::size_t p = 0; p < partitions.size(); ++p) {
    const std::uint64_t num_rows = first_rows[p + 1] - first_rows[p];
    const auto num_leaves =
        static_cast<std::uint32_t>(num_leaves_for(num_rows, static_cast<std::uint64_t>(leaf_rows)));
    partitions[p] = {first_leaf, num_leaves};
    first_leaf += num_leaves;
  }
  return partitions;
}

void allocate_tree(Snapshot& s, std::size_t num_leaves, PageSize pages,
                   const std::shared_ptr<TemporaryFiles>& files, ArenaRoom room) {
  s.num_nodes = 0;
  s.height = 0;
  for (std::size_t width = num_leaves; width > 0; width = width == 1 ? 0 : width) {
    width = (width + kFanOut - 1) / kFanOut;
    s.num_nodes += width;
    ++s.height;
  }
  s.num_leaves = s.leaf_slots = num_leaves;
  s.node_slots = s.num_nodes;
  if (s.height > 0) s.root = static_cast<std::uint32_t>(s.num_nodes - 1);
  // A nearly full arena would have no room for changes.
  constexpr std::size_t kRoom = 2;
  if (s.arena != nullptr && s.arena->leaf_capacity() >= kRoom * num_leaves &&
      s.arena->node_capacity() >= kRoom * s.num_nodes) {
    CULMEN_ASSERT(s.arena->leaf_slots() <= num_leaves && s.arena->node_slots() <= s.num_nodes);
    s.arena->grow_leaves(num_leaves);
    s.arena->grow_nodes(s.num_nodes);
  } else {
    s.arena =
        std::make_shared<SlotArena>(s.leaf_shape(), s.layout, num_leaves, s.num_nodes, pages, files, room);
  }
}

void stack_levels(Snapshot& s) {
  std::size_t first_below = 0;
  std::size_t width_below = (s.num_leaves + kFanOut - 1) / kFanOut;
  for (std::uint32_t level = 2; width_below > 1; ++level) {
    const std::size_t width = (width_below + kFanOut - 1) / kFanOut;
    const std::size_t first = first_below + width_below;
    tbb::parallel_for(std::size_t{0}, width, [&](std::size_t n) {
      std::vector<float> rows(static_cast<std::size_t>(s.layout.num_rows()));
      std::vector<float> bounds(rows.size() * kFanOut);
      const NodeAccess<std::byte> node = s.arena->mutable_node(first + n);
      NodeHeader& header = node.header();
      header.level = level;
      header.min_id = kNoId;
      header.num_children =
          static_cast<std::uint32_t>(std::min<std::size_t>(kFanOut, width_below - n * kFanOut));
      for (std::uint32_t c = 0; c < header.num_children; ++c) {
        const auto child = static_cast<std::uint32_t>(first_below + n * kFanOut + c);
        const NodeRef below = s.node(child);
        aggregate_bounds(below.bounds(), below.header().num_children, rows);
        node.children()[c] = child;
        node.min_ids()[c] = below.header().min_id;
        header.min_id = std::min(header.min_id, below.header().min_id);
        for (std::size_t row = 0; row < rows.size(); ++row) bounds[row * kFanOut + c] = rows[row];
      }
      encode_bounds(s.layout, bounds, header.num_children, node.bounds());
    });
    first_below = first;
    width_below = width;
  }
}

}  // namespace culmen
