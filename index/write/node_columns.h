// A child's entry in an inner node: its slot, its smallest id, and the column of its bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "index/bound_layout.h"
#include "index/node_layout.h"

namespace culmen {

using MutableNode = NodeAccess<std::byte>;

// Bounds of one child, a float for each row of the layout.
using BoundRows = std::vector<float>;

inline BoundRows bounds_of_no_rows(const BoundLayout& layout) {
  BoundRows rows(static_cast<std::size_t>(layout.num_rows()), -HUGE_VALF);
  std::fill(rows.begin() + layout.first_minimum_row(), rows.end(), HUGE_VALF);
  return rows;
}

// Numbers of bounds rows.
using RowNumbers = std::vector<std::uint16_t>;

// Returns true if `bound` lies farther out than `other`.
inline bool is_beyond(float bound, float other, Extreme extreme) {
  return extreme == Extreme::maximum ? bound > other : bound < other;
}

// Raises (minima: lowers) the bounds of a child to cover `rows`. Appends to `changed` the numbers of the node's bounds
// rows that have changed.
inline void cover_column(const BoundLayout& layout, MutableNode node, std::uint32_t child,
                         std::span<const float> rows, RowNumbers& changed) {
  const auto cover = [&](std::size_t first, std::size_t end, Extreme extreme) {
    for (std::size_t row = first; row < end; ++row) {
      BoundRow& bounds = node.bounds()[row];
      if (!is_beyond(rows[row], bounds[child], extreme)) continue;
      bounds.set(child, rows[row], node.header().num_children, extreme);
      changed.push_back(static_cast<std::uint16_t>(row));
    }
  };
  const auto first_minimum = static_cast<std::size_t>(layout.first_minimum_row());
  cover(0, first_minimum, Extreme::maximum);
  cover(first_minimum, rows.size(), Extreme::minimum);
}

// Sets the bounds of a child. Appends to `changed` the numbers of the node's bounds rows that have changed.
inline void set_column(const BoundLayout& layout, MutableNode node, std::uint32_t child,
                       std::span<const float> rows, RowNumbers& changed) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Extreme extreme = layout.extreme_of(static_cast<int>(row));
    BoundRow& bounds = node.bounds()[row];
    if (!bounds.is_tight(child, rows[row], extreme) &&
        bounds.set(child, rows[row], node.header().num_children, extreme))
      changed.push_back(static_cast<std::uint16_t>(row));
  }
}

inline void set_column(const BoundLayout& layout, MutableNode node, std::uint32_t child,
                       std::span<const float> rows) {
  RowNumbers changed;
  set_column(layout, node, child, rows, changed);
}

// Returns true if coding the bounds of a node again from its children would make them tighter, as far as its bounds
// rows show.
inline bool has_coarse_row(const BoundLayout& layout, NodeRef node) {
  for (int row = 0; row < layout.num_rows(); ++row)
    if (node.bounds()[row].is_coarse(node.header().num_children)) return true;
  return false;
}
// The same after these rows have changed. All outliers of a row share the bound of the farthest.
inline bool can_be_tighter(NodeRef node, const RowNumbers& changed) {
  const std::uint32_t num_children = node.header().num_children;
  return std::ranges::any_of(changed, [&](std::size_t row) {
    return node.bounds()[row].is_coarse(num_children) || node.bounds()[row].has_outliers(num_children);
  });
}

// `slot` must be that of a child.
inline std::uint32_t position_of(NodeRef node, std::uint32_t slot) {
  const std::uint32_t* children = node.children();
  return static_cast<std::uint32_t>(std::find(children, children + kFanOut, slot) - children);
}

// Makes room for a child at `position`, which the caller fills. The node must not be full.
inline void open_column(const BoundLayout& layout, MutableNode node, std::uint32_t position) {
  const std::uint32_t last = node.header().num_children++;
  std::copy_backward(node.children() + position, node.children() + last, node.children() + last + 1);
  std::copy_backward(node.min_ids() + position, node.min_ids() + last, node.min_ids() + last + 1);
  for (int row = 0; row < layout.num_rows(); ++row) {
    std::uint8_t* codes = node.bounds()[row].codes;
    std::copy_backward(codes + position, codes + last, codes + last + 1);
  }
}

// Removes children [first, first + count) and zeroes the columns after the last child.
inline void close_columns(const BoundLayout& layout, MutableNode node, std::uint32_t first,
                          std::uint32_t count) {
  const std::uint32_t end = node.header().num_children;
  const auto close = [first, count, end](auto* values) {
    const auto last = std::copy(values + first + count, values + end, values + first);
    std::fill(last, values + end, std::remove_reference_t<decltype(*values)>{});
  };
  close(node.children());
  close(node.min_ids());
  for (int row = 0; row < layout.num_rows(); ++row) close(node.bounds()[row].codes);
  node.header().num_children = end - count;
}

// Appends children [first, first + count) of another node. An empty node copies the scales of the other.
inline void append_columns(const BoundLayout& layout, MutableNode node, NodeRef from, std::uint32_t first,
                           std::uint32_t count) {
  const std::uint32_t end = node.header().num_children;
  std::copy_n(from.children() + first, count, node.children() + end);
  std::copy_n(from.min_ids() + first, count, node.min_ids() + end);
  for (int row = 0; row < layout.num_rows(); ++row) {
    if (end == 0) {
      node.bounds()[row] = from.bounds()[row];
      std::copy_n(from.bounds()[row].codes + first, count, node.bounds()[row].codes);
      std::fill(node.bounds()[row].codes + count, std::end(node.bounds()[row].codes), std::uint8_t{0});
      continue;
    }
    float bounds[kFanOut];
    for (std::uint32_t c = 0; c < end; ++c) bounds[c] = node.bounds()[row][c];
    for (std::uint32_t c = 0; c < count; ++c) bounds[end + c] = from.bounds()[row][first + c];
    node.bounds()[row].encode(std::span(bounds, end + count), layout.extreme_of(row));
  }
  node.header().num_children = end + count;
}

inline void update_min_id(MutableNode node) {
  node.header().min_id = *std::min_element(node.min_ids(), node.min_ids() + node.header().num_children);
}

}  // namespace culmen
