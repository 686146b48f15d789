#include "index/write/stats_update.h"

#include <algorithm>

#include "index/snapshot_fields.h"

namespace culmen {

void StatsUpdate::add_rows(const BatchRows& rows) {
  Snapshot& s = *tree_.next;
  for (std::size_t i = 0; i < s.stats.size(); ++i) {
    AttributeStats& stats = s.stats[i];
    bool has_values = gaps_of_index(s, static_cast<std::int32_t>(i)).some_present != 0;  // before the batch
    for (std::size_t r = 0; r < rows.num_rows(); ++r) {
      if (rows.misses(r, i)) continue;
      const double value = rows.number(r, i);
      if (!has_values) stats = {value, value, kNoQuantum};
      has_values = true;
      add_value(stats, value);
    }
  }
  if (s.exact_sums && !sums_stay_exact(rows)) loosen_all_bounds();
}

bool StatsUpdate::sums_stay_exact(const BatchRows& rows) const {
  const Snapshot& s = *tree_.next;
  std::vector<AttributeStats> filled = s.stats;
  for (std::size_t i = 0; i < filled.size(); ++i) {
    bool has_gaps = gaps_of_index(s, static_cast<std::int32_t>(i)).some_missing != 0;
    for (std::size_t r = 0; rows.have_gaps() && r < rows.num_rows() && !has_gaps; ++r)
      has_gaps = rows.misses(r, i);
    if (has_gaps) add_value(filled[i], s.stand_ins[i]);
  }
  return sums_are_exact(filled, s.units);
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
    const bool is_minimum = value == s.stats[i].minimum, is_maximum = value == s.stats[i].maximum;
    if ((!is_minimum && !is_maximum) || s.leaf_fields(slot).misses_attribute(i, position)) continue;
    lost_[i].minimum |= is_minimum;
    lost_[i].maximum |= is_maximum;
  }
}

// Scale::minmax needs the exact minimum and maximum.
void StatsUpdate::find_lost_extremes() {
  Snapshot& s = *tree_.next;
  for (std::size_t i = 0; i < s.stats.size(); ++i) {
    if (!lost_[i].minimum && !lost_[i].maximum) continue;
    const AttributeStats range = present_range_of_index(s, i);
    const bool has_values = range.minimum <= range.maximum;
    if (lost_[i].minimum) s.stats[i].minimum = has_values ? range.minimum : 0;
    if (lost_[i].maximum) s.stats[i].maximum = has_values ? range.maximum : 0;
  }
}

}  // namespace culmen
