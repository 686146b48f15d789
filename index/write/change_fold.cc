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

// Ids are assigned from next_id on without checking that they are free.
void ChangeFold::require_next_id_above(const Change& change) {
  std::int64_t min_next_id = next_id_;
  for (const std::int64_t id : change.ids) min_next_id = std::max(min_next_id, id_after(id));
  if (change.next_id < min_next_id)
    throw FormatError("a batch says that the next id is " + std::to_string(change.next_id) +
                      ", but ids below " + std::to_string(min_next_id) + " are used");
  next_id_ = change.next_id;
}

void ChangeFold::add(Change change) {
  require_next_id_above(change);
  num_steps_ += change.removed.size() + change.num_rows();
  changes_.push_back(std::move(change));
  const auto number = static_cast<std::uint32_t>(changes_.size() - 1);
  if (has_states_) return note_ids(number);
  if (changes_.back().removed.empty()) return;
  has_states_ = true;
  for (std::uint32_t earlier = 0; earlier <= number; ++earlier) note_ids(earlier);
}

void ChangeFold::note_ids(std::uint32_t number) {
  const Change& change = changes_[number];
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

Change ChangeFold::fold() const {
  Change folded;
  if (changes_.empty()) return folded;
  if (has_states_) {
    add_columns(rows_that_remain(folded), folded);
  } else {
    folded = all_rows();
  }
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

Change ChangeFold::all_rows() const {
  Change folded;
  std::vector<IdState> rows;
  for (std::uint32_t number = 0; number < changes_.size(); ++number) {
    const std::vector<std::int64_t>& ids = changes_[number].ids;
    folded.ids.insert(folded.ids.end(), ids.begin(), ids.end());
    for (std::uint32_t row = 0; row < ids.size(); ++row) rows.push_back({false, true, number, row});
  }
  folded.values.reserve(rows.size() * shape_.num_attributes * shape_.value_bytes);
  for (std::size_t i = 0; i < shape_.num_attributes; ++i)
    for (const Change& change : changes_) {
      const std::byte* values = change.value(0, i, shape_.value_bytes);
      folded.values.insert(folded.values.end(), values, values + change.num_rows() * shape_.value_bytes);
    }
  add_texts(rows, folded);
  return folded;
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
