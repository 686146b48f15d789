#include "index/node_zone_map.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace culmen {
namespace {

// [kZoneVectors][num_attributes]
template <typename T>
std::vector<T> zone_map_below(const SlotArena& arena, std::size_t slot) {
  const NodeRef node = arena.node(slot);
  const std::size_t d = arena.shape().num_attributes;
  std::vector<T> zone_map(2 * d);
  for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
    const std::uint32_t child = node.children()[c];
    const auto* below = reinterpret_cast<const T*>(node.header().level == 1 ? arena.zone_map(child)
                                                                            : arena.node_zone_map(child));
    if (c == 0) std::copy_n(below, 2 * d, zone_map.data());
    for (std::size_t i = 0; i < d; ++i) {
      zone_map[i] = std::max(zone_map[i], below[i]);
      zone_map[d + i] = std::min(zone_map[d + i], below[d + i]);
    }
  }
  return zone_map;
}

template <typename T>
bool is_zone_map(const std::vector<T>& zone_map, const SlotArena& arena, std::size_t slot) {
  return std::equal(zone_map.begin(), zone_map.end(), reinterpret_cast<const T*>(arena.node_zone_map(slot)));
}

template <typename T>
bool update(SlotArena& arena, std::size_t slot) {
  const std::vector<T> zone_map = zone_map_below<T>(arena, slot);
  if (is_zone_map(zone_map, arena, slot)) return false;
  std::ranges::copy(zone_map, reinterpret_cast<T*>(arena.node_zone_map(slot)));
  return true;
}

// The child zones of a node, written for one child after the other.
class ChildZonesWriter {
 public:
  explicit ChildZonesWriter(const ChildZonesLayout& layout) : layout_(layout), bytes_(layout.node_bytes()) {}

  void add_leaf(std::uint32_t child, const LeafFields& fields, std::uint32_t num_rows) {
    for (std::size_t i = 0; i < layout_.num_attributes; ++i) set_present(gaps(i), child);
    for (const AttributeGaps& one : fields.gaps()) {
      gaps(one.attribute).some_missing |= bit(child);
      if (one.num_missing == num_rows) gaps(one.attribute).some_present &= ~bit(child);
    }
    for (std::size_t f = 0; f < layout_.num_fields; ++f) {
      const FieldZone& zone = fields.zone(f);
      const ColumnSummary summary = {zone.minimum, zone.maximum, zone.set, zone.num_missing > 0,
                                     zone.num_missing < num_rows};
      add_field(child, f, summary);
    }
  }

  void add_node(std::uint32_t child, const ChildZonesRef& below, std::uint32_t num_children) {
    for (std::size_t i = 0; i < layout_.num_attributes; ++i) {
      if (below.gaps(i).some_missing != 0) gaps(i).some_missing |= bit(child);
      if (below.gaps(i).some_present != 0) set_present(gaps(i), child);
    }
    for (std::size_t f = 0; f < layout_.num_fields; ++f)
      add_field(child, f, summary_of(below.zones(f), num_children));
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  static std::uint32_t bit(std::uint32_t child) { return std::uint32_t{1} << child; }
  static void set_present(ChildGaps& gaps, std::uint32_t child) { gaps.some_present |= bit(child); }

  ChildGaps& gaps(std::size_t attribute) { return reinterpret_cast<ChildGaps*>(bytes_.data())[attribute]; }
  void add_field(std::uint32_t child, std::size_t field, const ColumnSummary& summary) {
    ChildZones& zones = reinterpret_cast<ChildZones*>(bytes_.data() + layout_.zones_offset())[field];
    zones.minimum[child] = summary.minimum;
    zones.maximum[child] = summary.maximum;
    zones.set[child] = summary.set;
    if (summary.some_missing) zones.gaps.some_missing |= bit(child);
    if (summary.some_present) set_present(zones.gaps, child);
  }

  ChildZonesLayout layout_;
  std::vector<std::byte> bytes_;
};

std::vector<std::byte> child_zones_below(const SlotArena& arena, std::size_t slot) {
  const NodeRef node = arena.node(slot);
  ChildZonesWriter writer(arena.child_zones_layout());
  for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
    const std::uint32_t child = node.children()[c];
    if (node.header().level == 1) {
      writer.add_leaf(c, arena.fields(child), arena.leaf(child).num_rows);
    } else {
      writer.add_node(c, arena.child_zones(child), arena.node(child).header().num_children);
    }
  }
  return writer.take();
}

bool are_child_zones(const std::vector<std::byte>& zones, const SlotArena& arena, std::size_t slot) {
  return std::equal(zones.begin(), zones.end(), arena.child_zones(slot).bytes());
}

// Of an index without fields and gaps: each child has values of all attributes.
bool update_child_gaps(SlotArena& arena, std::size_t slot) {
  constexpr std::uint64_t kOne = 1;
  const std::uint32_t num_children = arena.node(slot).header().num_children;
  const ChildGaps all = {0, static_cast<std::uint32_t>((kOne << num_children) - 1)};
  const std::span<ChildGaps> gaps(reinterpret_cast<ChildGaps*>(arena.child_zones_bytes(slot)),
                                  arena.shape().num_attributes);
  if (std::ranges::count(gaps, all) == std::ssize(gaps)) return false;
  std::ranges::fill(gaps, all);
  return true;
}

bool update_child_zones(SlotArena& arena, std::size_t slot) {
  if (!arena.has_fields()) return update_child_gaps(arena, slot);
  const std::vector<std::byte> zones = child_zones_below(arena, slot);
  if (are_child_zones(zones, arena, slot)) return false;
  std::ranges::copy(zones, arena.child_zones_bytes(slot));
  return true;
}

}  // namespace

ColumnSummary summary_of(const ChildZones& zones, std::uint32_t num_children) {
  ColumnSummary summary = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
                           0, zones.gaps.some_missing != 0, zones.gaps.some_present != 0};
  for (std::uint32_t c = 0; c < num_children; ++c) {
    if ((zones.gaps.some_present >> c & 1) == 0) continue;
    summary.minimum = std::min(summary.minimum, zones.minimum[c]);
    summary.maximum = std::max(summary.maximum, zones.maximum[c]);
    summary.set |= zones.set[c];
  }
  return summary;
}

bool update_node_zone_map(SlotArena& arena, std::size_t slot) {
  const bool zones_changed = update_child_zones(arena, slot);
  const bool map_changed =
      arena.shape().value_bytes == sizeof(float) ? update<float>(arena, slot) : update<double>(arena, slot);
  return zones_changed || map_changed;
}

bool is_node_zone_map(const SlotArena& arena, std::size_t slot) {
  const bool is_map = arena.shape().value_bytes == sizeof(float)
                          ? is_zone_map(zone_map_below<float>(arena, slot), arena, slot)
                          : is_zone_map(zone_map_below<double>(arena, slot), arena, slot);
  return is_map && are_child_zones(child_zones_below(arena, slot), arena, slot);
}

void write_node_zone_maps(const Snapshot& s) {
  for (std::size_t first = 0, end = 0; first < s.num_nodes; first = end) {
    const std::uint32_t level = s.node(first).header().level;
    while (end < s.num_nodes && s.node(end).header().level == level) ++end;
    tbb::parallel_for(first, end, [&](std::size_t node) { update_node_zone_map(*s.arena, node); });
  }
}

}  // namespace culmen
