// Writes the labels of a leaf.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "index/leaf_texts.h"
#include "index/slot_arena.h"

namespace culmen {

inline constexpr std::uint64_t kMaxLabelBytes = std::numeric_limits<std::uint32_t>::max();

// label(r) is the label of row r < num_rows. If they take more than `max_bytes`, calls `refuse` with the row of the longest.
template <typename Label>
void write_labels(SlotArena& arena, std::size_t leaf, std::size_t num_rows, const Label& label,
                  const RefuseRow& refuse, std::uint64_t max_bytes = kMaxLabelBytes) {
  std::uint64_t text_bytes = 0;
  std::size_t longest = 0;
  for (std::size_t r = 0; r < num_rows; ++r) {
    text_bytes += label(r).size();
    if (label(r).size() > label(longest).size()) longest = r;
  }
  if (text_bytes > max_bytes)
    refuse(longest, too_long_for_leaf("the labels", num_rows, "4 GiB", label(longest).size()));
  const std::span<std::byte> room = arena.allocate_labels(leaf, text_bytes);
  auto* ends = reinterpret_cast<std::uint32_t*>(room.data());
  auto* text = reinterpret_cast<char*>(room.data() + arena.shape().label_end_bytes());
  const char* const start = text;
  for (std::size_t r = 0; r < arena.shape().leaf_rows; ++r) {
    if (r < num_rows) text = std::copy_n(label(r).data(), label(r).size(), text);
    ends[r] = static_cast<std::uint32_t>(text - start);
  }
}

}  // namespace culmen
