#include "index/write/node_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/for_each.h"
#include "index/leaf_bounds.h"
#include "index/node_zone_map.h"

namespace culmen {

// ---- One node

BoundRows NodeBounds::aggregate(NodeRef node) const {
  BoundRows rows(static_cast<std::size_t>(layout().num_rows()));
  aggregate_bounds(node.bounds(), node.header().num_children, rows);
  return rows;
}

bool NodeBounds::update_zone_map(PageNumber page) const {
  return update_node_zone_map(*nodes_.next().arena, nodes_.slot(page));
}

void NodeBounds::update_entry(PageNumber page) {
  update_zone_map(page);
  const MutableNode above = nodes_.writable(nodes_.parent(page));
  const NodeRef child = nodes_.node(page);
  const std::uint32_t position = nodes_.position_in_parent(page);
  set_column(layout(), above, position, aggregate(child));
  above.min_ids()[position] = child.header().min_id;
}

void NodeBounds::update_to_root(PageNumber page) {
  for (; !nodes_.is_root(page); page = nodes_.parent(page)) {
    update_entry(page);
    update_min_id(nodes_.writable(nodes_.parent(page)));
  }
  update_zone_map(page);
}

// ---- After a batch

void NodeBounds::propagate(std::vector<Edited> edited) {
  while (!edited.empty() && !nodes_.is_root(edited.front().node)) {
    std::sort(edited.begin(), edited.end(), [this](const Edited& a, const Edited& b) {
      return std::pair(nodes_.parent(a.node), a.node) < std::pair(nodes_.parent(b.node), b.node);
    });
    std::vector<std::size_t> starts;  // of the nodes below each parent
    for (std::size_t i = 0; i < edited.size(); ++i)
      if (i == 0 || nodes_.parent(edited[i].node) != nodes_.parent(edited[i - 1].node)) starts.push_back(i);
    starts.push_back(edited.size());
    std::vector<Edited> above(starts.size() - 1);
    for_each(above.size(), [&](std::size_t p) {
      above[p].node = nodes_.parent(edited[starts[p]].node);
      for (std::size_t i = starts[p]; i < starts[p + 1]; ++i) propagate(edited[i], above[p]);
      if (above[p].is_reshaped) recode_coarse_rows(nodes_.writable(above[p].node));
      update_min_id(nodes_.writable(above[p].node));
    });
    edited = std::move(above);
  }
  for (const Edited& root : edited)
    if (root.is_reshaped || root.has_new_zone_map) update_zone_map(root.node);
}

// Updates the node's entry in its parent and adds to `above` what has changed there. Takes the node's bounds as they
// are coded: where the scale of a row has changed, so may have the bounds of children that did not change.
void NodeBounds::propagate(Edited& edited, Edited& above) {
  const MutableNode parent_node = nodes_.writable(above.node);
  const NodeRef below = nodes_.node(edited.node);
  const std::uint32_t position = nodes_.position_in_parent(edited.node);
  parent_node.min_ids()[position] = below.header().min_id;
  if (edited.is_reshaped || edited.has_new_zone_map) above.has_new_zone_map |= update_zone_map(edited.node);
  if (edited.is_reshaped) {
    above.is_reshaped = true;
    return set_column(layout(), parent_node, position, aggregate(below));
  }
  std::sort(edited.changed_rows.begin(), edited.changed_rows.end());
  const auto end = std::unique(edited.changed_rows.begin(), edited.changed_rows.end());
  edited.changed_rows.erase(end, edited.changed_rows.end());
  for (const std::uint16_t row : edited.changed_rows) {
    const float bound = below.bounds()[row].farthest_out(below.header().num_children);
    BoundRow& bounds = parent_node.bounds()[row];
    const std::uint32_t num_children = parent_node.header().num_children;
    if (bounds.is_tight(position, bound, layout().extreme_of(row)) ||
        !bounds.set(position, bound, num_children, layout().extreme_of(row)))
      continue;
    if (bounds.is_coarse(num_children) || bounds.has_outliers(num_children)) recode(parent_node, row);
    above.changed_rows.push_back(row);
  }
}

// The node is above level 1.
void NodeBounds::recode_coarse_rows(MutableNode node) const {
  for (int row = 0; row < layout().num_rows(); ++row)
    if (node.bounds()[row].is_coarse(node.header().num_children))
      recode(node, static_cast<std::uint16_t>(row));
}

// Codes a bounds row of a node above level 1 again, from the children's own bounds.
void NodeBounds::recode(MutableNode node, std::uint16_t row) const {
  float bounds[kFanOut];
  const std::uint32_t num_children = node.header().num_children;
  for (std::uint32_t c = 0; c < num_children; ++c) {
    const NodeRef child = nodes_.next().node(node.children()[c]);
    bounds[c] = child.bounds()[row].farthest_out(child.header().num_children);
  }
  node.bounds()[row].encode(std::span(bounds, num_children), layout().extreme_of(row));
}

// ---- When sums begin to round

void NodeBounds::loosen_all() {
  const Snapshot& s = nodes_.next();
  for (std::uint32_t level = 1; level <= static_cast<std::uint32_t>(s.height); ++level)
    for_each(nodes_.num_pages(), [&](std::size_t p) {
      const auto page = static_cast<PageNumber>(p);
      if (nodes_.is_free(page) || nodes_.node(page).header().level != level) return;
      const MutableNode node = nodes_.writable(page);
      if (level == 1) return loosen(node);
      for (std::uint32_t c = 0; c < node.header().num_children; ++c)
        set_column(s.layout, node, c, aggregate(s.node(node.children()[c])));
    });
}

// A leaf's values are no larger than its own bounds, so a huge value elsewhere does not loosen them.
void NodeBounds::loosen(MutableNode node) const {
  const std::uint32_t num_children = node.header().num_children;
  std::vector<std::vector<double>> error_bound;  // [child][bounds row]
  for (std::uint32_t c = 0; c < num_children; ++c) {
    std::vector<double> max_abs;
    for (int i = 0; i < layout().num_attributes(); ++i) {
      const double highest = node.bounds()[layout().maximum_row(i)][c],
                   lowest = node.bounds()[layout().minimum_row(i)][c];
      max_abs.push_back(std::max(std::fabs(highest), std::fabs(lowest)));
    }
    error_bound.push_back(bound_error(layout(), max_abs));
  }
  for (std::size_t row = 0; row < static_cast<std::size_t>(layout().num_rows()); ++row) {
    const Extreme extreme = layout().extreme_of(static_cast<int>(row));
    BoundRow& bounds = node.bounds()[row];
    float loosened[kFanOut];
    for (std::uint32_t c = 0; c < num_children; ++c) {
      const auto bound = static_cast<double>(bounds[c]);
      loosened[c] = extreme == Extreme::maximum ? bound_above(bound + error_bound[c][row])
                                                : bound_below(bound - error_bound[c][row]);
    }
    bounds.encode(std::span(loosened, num_children), extreme);
  }
}

}  // namespace culmen
