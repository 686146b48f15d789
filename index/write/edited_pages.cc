#include "index/write/edited_pages.h"

#include <algorithm>
#include <utility>

namespace culmen {

std::size_t EditedPages::num_rows(const PageEdit& edit) const {
  return tree_.leaf(edit.page).num_rows - edit.removed.size() + edit.added.size();
}

std::vector<Run> EditedPages::runs(const PageEdit& edit) const {
  const std::uint32_t slot = tree_.pages[edit.page].slot;
  std::vector<Run> runs;
  std::uint32_t at = 0;
  auto removed = edit.removed.begin();
  const auto keep_until = [&](std::uint32_t end) {
    for (; removed != edit.removed.end() && removed->value < end; ++removed) {
      if (removed->value > at) runs.push_back({slot, at, removed->value - at});
      at = removed->value + 1;
    }
    if (end > at) runs.push_back({slot, at, end - at});
    at = std::max(at, end);
  };
  for (const std::uint32_t row : sorted_added(edit)) {
    keep_until(first_row_after(slot, at, row));
    runs.push_back({kOfBatch, row, 1});
  }
  keep_until(tree_.next->leaf(slot).num_rows);
  return runs;
}

std::vector<std::uint32_t> EditedPages::sorted_added(const PageEdit& edit) const {
  std::vector<std::uint32_t> added;
  for (const PageOperation& operation : edit.added) added.push_back(operation.value);
  const auto key = [&](std::uint32_t row) {
    return std::pair(located_.order(row), located_.change().ids[row]);
  };
  std::sort(added.begin(), added.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return added;
}

// The first row of the leaf, from `from` on, that follows row `added` of the batch in key order.
std::uint32_t EditedPages::first_row_after(std::uint32_t slot, std::uint32_t from,
                                           std::uint32_t added) const {
  const Snapshot& s = *tree_.next;
  const std::pair wanted(located_.order(added), located_.change().ids[added]);
  std::uint32_t low = from, high = s.leaf(slot).num_rows;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    const bool is_before = std::pair(order_at(s, slot, middle), s.leaf_ids(slot)[middle]) < wanted;
    (is_before ? low : high) = is_before ? middle + 1 : middle;
  }
  return low;
}

}  // namespace culmen
