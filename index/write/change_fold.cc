#include "index/write/change_fold.h"

#include <algorithm>
#include <string>
#include <utility>

#include "culmen/error.h"

namespace culmen {

ChangeFold::Fate& ChangeFold::fate_of(std::int64_t id) {
  const auto found = fates_.find(id);
  if (found != fates_.end()) return found->second;
  const bool there = contains_(id);
  return fates_.emplace(id, Fate{there, there}).first->second;
}

// Ids are assigned from it on without a look at those that are there.
void ChangeFold::require_next_id_above(const Change& change) {
  std::int64_t least = next_id_;
  for (const std::int64_t id : change.ids) least = std::max(least, id_after(id));
  if (change.next_id < least)
    throw FormatError("a batch goes on with id " + std::to_string(change.next_id) + ", where " +
                      std::to_string(least) + " is the first that nobody had");
  next_id_ = change.next_id;
}

void ChangeFold::add(Change change) {
  for (const std::int64_t id : change.removed) {
    Fate& fate = fate_of(id);
    if (!fate.is_there)
      throw FormatError("a batch removes id " + std::to_string(id) + ", which is not there");
    fate.is_there = false;
  }
  const auto number = static_cast<std::uint32_t>(changes_.size());
  for (std::uint32_t row = 0; row < change.num_rows(); ++row) {
    Fate& fate = fate_of(change.ids[row]);
    if (fate.is_there)
      throw FormatError("a batch adds id " + std::to_string(change.ids[row]) + ", which is there");
    fate = {fate.was_there, true, number, row};
  }
  require_next_id_above(change);
  num_steps_ += change.removed.size() + change.num_rows();
  changes_.push_back(std::move(change));
}

Change ChangeFold::fold() const {
  Change folded;
  if (changes_.empty()) return folded;
  folded.next_id = next_id_;
  for (const Change& change : changes_) folded.rounded_values += change.rounded_values;
  std::vector<Fate> rows;
  for (const auto& [id, fate] : fates_) {
    const bool is_new = fate.is_there && fate.change != kNoChange;
    if (fate.was_there && (is_new || !fate.is_there)) folded.removed.push_back(id);
    if (is_new) rows.push_back(fate);
  }
  std::sort(folded.removed.begin(), folded.removed.end());
  std::sort(rows.begin(), rows.end(), [](const Fate& a, const Fate& b) {
    return a.change != b.change ? a.change < b.change : a.row < b.row;
  });
  folded.values.reserve(rows.size() * shape_.num_attributes * shape_.value_bytes);
  for (std::size_t i = 0; i < shape_.num_attributes; ++i)
    for (const Fate& fate : rows) {
      const std::byte* value = changes_[fate.change].value(fate.row, i, shape_.value_bytes);
      folded.values.insert(folded.values.end(), value, value + shape_.value_bytes);
    }
  for (const Fate& fate : rows) {
    const Change& change = changes_[fate.change];
    folded.ids.push_back(change.ids[fate.row]);
    if (!shape_.has_labels) continue;
    const std::string_view label = change.label(fate.row);
    folded.label_text.insert(folded.label_text.end(), label.begin(), label.end());
    folded.label_ends.push_back(folded.label_text.size());
  }
  return folded;
}

}  // namespace culmen
