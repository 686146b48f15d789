#include "index/snapshot_fields.h"

#include <algorithm>
#include <limits>

#include "index/field_key.h"
#include "index/node_zone_map.h"
#include "index/read_session.h"

namespace culmen {
namespace {

// `column`: the stored values of the attribute.
template <typename T>
bool is_gap_good(const LeafFields& fields, const AttributeGaps& gaps, const T* column, std::uint32_t num_rows,
                 double stand_in) {
  AttributeGaps real = gaps;
  real.minimum = real.maximum = 0;
  bool has_value = false;
  for (std::uint32_t row = 0; row < num_rows; ++row) {
    const auto value = static_cast<double>(column[row]);
    if (fields.misses_attribute(gaps.attribute, row)) {
      if (value != stand_in) return false;
      continue;
    }
    real.minimum = has_value ? std::min(real.minimum, value) : value;
    real.maximum = has_value ? std::max(real.maximum, value) : value;
    has_value = true;
  }
  return real == gaps;
}

}  // namespace

std::vector<std::uint32_t> dictionary_sizes(const IndexMetadata& metadata) {
  std::vector<std::uint32_t> sizes;
  for (const auto& dictionary : metadata.dictionaries)
    sizes.push_back(dictionary == nullptr ? 0 : dictionary->size());
  return sizes;
}

std::string_view fault_of_gaps(const Snapshot& s, std::size_t leaf, const LeafFields& fields) {
  if (!fields.gaps().empty() && s.stand_ins.size() != s.attributes.size())
    return "missing values in an index without stand-ins";
  return visit_value_type(s, [&]<typename T>(T) -> std::string_view {
    for (const AttributeGaps& gaps : fields.gaps()) {
      if (s.attributes[gaps.attribute].stand_in == StandIn::refuse)
        return "missing values of an attribute that refuses them";
      const T* column = s.leaf_values<T>(leaf) + gaps.attribute * static_cast<std::size_t>(s.leaf_rows);
      if (!is_gap_good(fields, gaps, column, s.leaf(leaf).num_rows, s.stand_ins[gaps.attribute]))
        return "missing values are not the attribute's stand-in, or the range of the others is wrong";
    }
    return {};
  });
}

double cut_value(const Snapshot& s, std::size_t leaf, std::size_t row, std::uint32_t column) {
  if (column < s.attributes.size())
    return s.value(leaf * static_cast<std::uint64_t>(s.leaf_rows) + row, static_cast<int>(column));
  const std::size_t f = column - s.attributes.size();
  const LeafFields fields = s.leaf_fields(leaf);
  return fields.misses_field(f, row) ? kMissingCutValue : cut_value(s.fields[f], fields.key(f, row));
}

AttributeStats present_range(const Snapshot& s, std::size_t leaf, std::size_t attribute) {
  AttributeStats range;
  const AttributeGaps* gaps = s.leaf_fields(leaf).gaps_of(attribute);
  if (gaps == nullptr) {
    visit_value_type(s, [&]<typename T>(T) {
      range.minimum = static_cast<double>(s.zone_vector<T>(leaf, Extreme::minimum)[attribute]);
      range.maximum = static_cast<double>(s.zone_vector<T>(leaf, Extreme::maximum)[attribute]);
    });
  } else if (gaps->num_missing == s.leaf(leaf).num_rows) {
    range.minimum = std::numeric_limits<double>::infinity();
    range.maximum = -range.minimum;
  } else {
    range.minimum = gaps->minimum;
    range.maximum = gaps->maximum;
  }
  return range;
}

namespace {

void cover(AttributeStats& range, double minimum, double maximum) {
  range.minimum = std::min(range.minimum, minimum);
  range.maximum = std::max(range.maximum, maximum);
}

// Zone maps cover stand-ins as well: an extreme that is not the stand-in is the value of a row.
void cover_node(const Snapshot& s, std::uint32_t slot, std::size_t attribute, AttributeStats& range) {
  const ChildGaps gaps = s.arena->child_zones(slot).gaps(attribute);
  if (gaps.some_present == 0) return;
  AttributeStats zone;
  visit_value_type(s, [&]<typename T>(T) {
    zone.minimum = static_cast<double>(s.node_zone_vector<T>(slot, Extreme::minimum)[attribute]);
    zone.maximum = static_cast<double>(s.node_zone_vector<T>(slot, Extreme::maximum)[attribute]);
  });
  if (zone.minimum >= range.minimum && zone.maximum <= range.maximum) return;
  const double stand_in = s.stand_ins.empty() ? 0 : s.stand_ins[attribute];
  if (gaps.some_missing == 0 || (zone.minimum != stand_in && zone.maximum != stand_in))
    return cover(range, zone.minimum, zone.maximum);
  const NodeRef node = s.node(slot);
  for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
    const std::uint32_t child = node.children()[c];
    if (node.header().level > 1) {
      cover_node(s, child, attribute, range);
    } else {
      const AttributeStats of_leaf = present_range(s, child, attribute);
      cover(range, of_leaf.minimum, of_leaf.maximum);
    }
  }
}

}  // namespace

AttributeStats present_range_of_index(const Snapshot& snapshot, std::size_t attribute) {
  AttributeStats range;
  range.minimum = std::numeric_limits<double>::infinity();
  range.maximum = -range.minimum;
  if (snapshot.height > 0) cover_node(snapshot, snapshot.root, attribute, range);
  return range;
}

ColumnSummary summary_of_index(const Snapshot& snapshot, std::int32_t field) {
  if (snapshot.height == 0) return {0, 0, 0, false, false};
  const ReadSession session(snapshot);
  return summary_of(snapshot.arena->child_zones(snapshot.root).zones(static_cast<std::size_t>(field)),
                    snapshot.node(snapshot.root).header().num_children);
}

ChildGaps gaps_of_index(const Snapshot& snapshot, std::int32_t attribute) {
  if (snapshot.height == 0) return {};
  const ReadSession session(snapshot);
  ChildGaps gaps = snapshot.arena->child_zones(snapshot.root).gaps(static_cast<std::size_t>(attribute));
  if (gaps.some_missing == 0) gaps.some_present = ~std::uint32_t{0};
  return gaps;
}

std::vector<std::uint64_t> attributes_with_gaps(const Snapshot& snapshot) {
  std::vector<std::uint64_t> attributes;
  for (std::int32_t i = 0; i < snapshot.num_attributes(); ++i) {
    if (gaps_of_index(snapshot, i).some_missing == 0) continue;
    attributes.resize(static_cast<std::size_t>(snapshot.num_attributes() + 63) / 64);
    attributes[static_cast<std::size_t>(i) / 64] |= std::uint64_t{1} << i % 64;
  }
  return attributes;
}

std::vector<AttributeStats> filled_stats(const Snapshot& snapshot) {
  std::vector<AttributeStats> stats = snapshot.stats;
  for (std::size_t i = 0; i < stats.size(); ++i) {
    const ChildGaps gaps = gaps_of_index(snapshot, static_cast<std::int32_t>(i));
    if (gaps.some_missing == 0) continue;
    const double stand_in = snapshot.stand_ins[i];
    if (gaps.some_present == 0) stats[i] = {stand_in, stand_in, kNoQuantum};
    add_value(stats[i], stand_in);
  }
  return stats;
}

}  // namespace culmen
