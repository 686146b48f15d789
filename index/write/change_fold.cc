#include "index/write/change_fold.h"

#include <algorithm>
#include <string>
#include <utility>

#include "culmen/error.h"

namespace culmen {

ChangeFold::IdState& ChangeFold::state_of(std::int64_t id, bool is_believed_there) {
  const auto found = states_.find(id);
  if (found != states_.end()) return found->second;
  const bool there = contains_ ? contains_(id) : is_believed_there;
  return states_.emplace(id, IdState{there, there}).first->second;
}

void ChangeFold::add(Change added) {
  require_next_id_above_all(added, next_id_);
  next_id_ = added.next_id;
  num_steps_ += added.removed.size() + added.num_rows();
  changes_.push_back(std::move(added));
  const Change& change = changes_.back();
  const auto number = static_cast<std::uint32_t>(changes_.size() - 1);
  for (const std::int64_t id : change.removed) {
    IdState& state = state_of(id, true);
    if (!state.is_there)
      throw FormatError("a batch removes id " + std::to_string(id) + ", which is not there");
    state.is_there = false;
  }
  for (std::uint32_t row = 0; row < change.num_rows(); ++row) {
    IdState& state = state_of(change.ids[row], false);
    if (state.is_there)
      throw FormatError("a batch adds id " + std::to_string(change.ids[row]) + ", which is there");
    state = {state.was_there, true, number, row};
  }
}

std::optional<bool> ChangeFold::is_there(std::int64_t id) const {
  const auto found = states_.find(id);
  return found == states_.end() ? std::nullopt : std::optional(found->second.is_there);
}

Change ChangeFold::fold() const {
  Change folded;
  if (changes_.empty()) return folded;
  add_columns(rows_that_remain(folded), folded);
  folded.next_id = next_id_;
  for (const Change& change : changes_) folded.rounded_values += change.rounded_values;
  return folded;
}

// Sets what the change removes.
std::vector<ChangeFold::IdState> ChangeFold::rows_that_remain(Change& folded) const {
  std::vector<IdState> rows;
  for (const auto& [id, state] : states_) {
    const bool is_new = state.is_there && state.change != kNoChange;
    if (state.was_there && (is_new || !state.is_there)) folded.removed.push_back(id);
    if (is_new) rows.push_back(state);
  }
  std::sort(folded.removed.begin(), folded.removed.end());
  std::sort(rows.begin(), rows.end(), [](const IdState& a, const IdState& b) {
    return a.change != b.change ? a.change < b.change : a.row < b.row;
  });
  return rows;
}

void ChangeFold::add_columns(std::span<const IdState> rows, Change& folded) const {
  folded.values.reserve(rows.size() * shape_.num_attributes * shape_.value_bytes);
  for (std::size_t i = 0; i < shape_.num_attributes; ++i)
    for (const IdState& state : rows) {
      const std::byte* value = changes_[state.change].value(state.row, i, shape_.value_bytes);
      folded.values.insert(folded.values.end(), value, value + shape_.value_bytes);
    }
  for (const IdState& state : rows) folded.ids.push_back(changes_[state.change].ids[state.row]);
  add_texts(rows, folded);
}

// Labels and fields.
void ChangeFold::add_texts(std::span<const IdState> rows, Change& folded) const {
  for (std::size_t r = 0; r < rows.size() && shape_.has_labels; ++r) {
    const std::string_view label = changes_[rows[r].change].label(rows[r].row);
    folded.label_text.insert(folded.label_text.end(), label.begin(), label.end());
    folded.label_ends.push_back(folded.label_text.size());
  }
  for (std::size_t f = 0; f < fields_.size() && !rows.empty(); ++f) {
    FieldChangeBuilder field(fields_[f]);
    for (const IdState& state : rows) field.add_row_of(changes_[state.change].fields[f], state.row);
    folded.fields.push_back(field.take());
  }
}

}  // namespace culmen
