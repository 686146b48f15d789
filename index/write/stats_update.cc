#include "index/write/stats_update.h"

#include <algorithm>

namespace culmen {

void StatsUpdate::add_rows(const Change& change) {
  Snapshot& s = *tree_.next;
  for (std::size_t i = 0; i < s.stats.size(); ++i) {
    AttributeStats& stats = s.stats[i];
    for (std::size_t r = 0; r < change.num_rows(); ++r) {
      const double value = change.number(r, i, s.value_bytes());
      stats.minimum = std::min(stats.minimum, value);
      stats.maximum = std::max(stats.maximum, value);
      stats.quantum = std::min(stats.quantum, quantum_exponent(value));
    }
  }
  if (s.exact_sums && !sums_are_exact(s.stats, s.units)) loosen_all_bounds();
}

// While sums were exact, bounds were stored without an error bound. Now sums may round, so each bound is widened by the
// error bound of its own leaf.
void StatsUpdate::loosen_all_bounds() {
  tree_.next->exact_sums = false;
  tree_.nodes.make_all_writable();
  tree_.bounds.loosen_all();
}

void StatsUpdate::note_removed_row(std::uint32_t slot, std::uint32_t position) {
  const Snapshot& s = *tree_.next;
  const std::uint64_t row = slot * static_cast<std::uint64_t>(s.leaf_rows) + position;
  for (std::size_t i = 0; i < s.stats.size(); ++i) {
    const double value = s.value(row, static_cast<int>(i));
    if (value == s.stats[i].minimum) lost_[i].minimum = true;
    if (value == s.stats[i].maximum) lost_[i].maximum = true;
  }
}

// Scale::minmax needs the exact minimum and maximum.
void StatsUpdate::find_lost_extremes() {
  if (std::ranges::none_of(lost_, [](const Lost& lost) { return lost.minimum || lost.maximum; })) return;
  Snapshot& s = *tree_.next;
  tree_.extremes.update(s, tree_.pages);
  for (std::size_t i = 0; i < s.stats.size(); ++i) {
    if (lost_[i].minimum) s.stats[i].minimum = tree_.extremes.minimum(i);
    if (lost_[i].maximum) s.stats[i].maximum = tree_.extremes.maximum(i);
  }
}

}  // namespace culmen
