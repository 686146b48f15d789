// A child's entry in an inner node: its slot, its smallest id, and the column of its bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/half.h"
#include "index/bound_layout.h"
#include "index/node_layout.h"

namespace culmen {

using MutableNode = NodeAccess<std::byte>;

inline std::vector<Half> bounds_of_no_rows(const BoundLayout& layout) {
  std::vector<Half> rows(static_cast<std::size_t>(layout.num_rows()), Half{0xfc00});
  std::fill(rows.begin() + layout.first_minimum_row(), rows.end(), kHalfInfinity);
  return rows;
}

// Raises (minima: lowers) `rows` to cover `other`. -0 and 0 are told apart: either is a bound for the other.
inline void cover(const BoundLayout& layout, std::span<Half> rows, std::span<const Half> other) {
  const auto first_minimum = static_cast<std::size_t>(layout.first_minimum_row());
  for (std::size_t row = 0; row < first_minimum; ++row)
    rows[row] = is_less(rows[row], other[row]) ? other[row] : rows[row];
  for (std::size_t row = first_minimum; row < rows.size(); ++row)
    rows[row] = is_less(other[row], rows[row]) ? other[row] : rows[row];
}

// The same for the column of a child. False: it covered them before.
inline bool cover_column(const BoundLayout& layout, MutableNode node, std::uint32_t child,
                         std::span<const Half> rows) {
  Half* column = node.bounds() + child;
  bool has_changed = false;
  const auto set_if = [&](bool is_beyond, std::size_t row) {
    if (!is_beyond) return;
    column[row * kFanOut] = rows[row];
    has_changed = true;
  };
  const auto first_minimum = static_cast<std::size_t>(layout.first_minimum_row());
  for (std::size_t row = 0; row < first_minimum; ++row)
    set_if(is_less(column[row * kFanOut], rows[row]), row);
  for (std::size_t row = first_minimum; row < rows.size(); ++row)
    set_if(is_less(rows[row], column[row * kFanOut]), row);
  return has_changed;
}

inline void set_column(MutableNode node, std::uint32_t child, std::span<const Half> rows) {
  for (std::size_t row = 0; row < rows.size(); ++row) node.bounds()[row * kFanOut + child] = rows[row];
}

inline void get_column(NodeRef node, std::uint32_t child, std::span<Half> rows) {
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = node.bounds()[row * kFanOut + child];
}

// The child in `slot` must be there.
inline std::uint32_t position_of(NodeRef node, std::uint32_t slot) {
  const std::uint32_t* children = node.children();
  return static_cast<std::uint32_t>(std::find(children, children + kFanOut, slot) - children);
}

// Makes room for a child at `position`, which has to be filled; the node must not be full.
inline void open_column(const BoundLayout& layout, MutableNode node, std::uint32_t position) {
  const std::uint32_t last = node.header().num_children++;
  std::copy_backward(node.children() + position, node.children() + last, node.children() + last + 1);
  std::copy_backward(node.min_ids() + position, node.min_ids() + last, node.min_ids() + last + 1);
  const auto num_rows = static_cast<std::size_t>(layout.num_rows());
  for (std::size_t row = 0; row < num_rows; ++row) {
    Half* bounds = node.bounds() + row * kFanOut;
    std::copy_backward(bounds + position, bounds + last, bounds + last + 1);
  }
}

// Takes children [first, first + count) out. Places behind the last child are 0.
inline void close_columns(const BoundLayout& layout, MutableNode node, std::uint32_t first,
                          std::uint32_t count) {
  const std::uint32_t end = node.header().num_children;
  const auto close = [first, count, end](auto* values) {
    const auto last = std::copy(values + first + count, values + end, values + first);
    std::fill(last, values + end, std::remove_reference_t<decltype(*values)>{});
  };
  close(node.children());
  close(node.min_ids());
  const auto num_rows = static_cast<std::size_t>(layout.num_rows());
  for (std::size_t row = 0; row < num_rows; ++row) close(node.bounds() + row * kFanOut);
  node.header().num_children = end - count;
}

// Appends `count` children of another node from `first` on.
inline void append_columns(const BoundLayout& layout, MutableNode node, NodeRef from, std::uint32_t first,
                           std::uint32_t count) {
  const std::uint32_t end = node.header().num_children;
  std::copy_n(from.children() + first, count, node.children() + end);
  std::copy_n(from.min_ids() + first, count, node.min_ids() + end);
  const auto num_rows = static_cast<std::size_t>(layout.num_rows());
  for (std::size_t row = 0; row < num_rows; ++row)
    std::copy_n(from.bounds() + row * kFanOut + first, count, node.bounds() + row * kFanOut + end);
  node.header().num_children = end + count;
}

inline void update_min_id(MutableNode node) {
  node.header().min_id = *std::min_element(node.min_ids(), node.min_ids() + node.header().num_children);
}

}  // namespace culmen
