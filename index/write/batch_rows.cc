#include "index/write/batch_rows.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "index/field_key.h"

namespace culmen {
namespace {

// The codes of a column's texts. Adds those that the dictionary lacks.
std::vector<std::int64_t> codes_of(const FieldChange& change, std::shared_ptr<const Dictionary>& dictionary) {
  const Dictionary& known = *dictionary;
  std::vector<std::int64_t> codes;
  std::vector<std::string_view> fresh;
  std::unordered_map<std::string_view, std::int64_t> code_of_fresh;  // a log may repeat a text
  for (std::size_t i = 0; i < change.text_ends.size(); ++i) {
    const std::string_view text = change.text_at(i);
    if (const std::optional<std::uint32_t> code = known.find(text)) {
      codes.push_back(*code);
      continue;
    }
    const auto [found, is_new] = code_of_fresh.emplace(text, std::int64_t{known.size()} + std::ssize(fresh));
    if (is_new) fresh.push_back(text);
    codes.push_back(found->second);
  }
  if (!fresh.empty()) dictionary = std::make_shared<const Dictionary>(known.with(fresh));
  return codes;
}

}  // namespace

BatchRows::BatchRows(const Change& change, Snapshot& snapshot)
    : change_(change),
      fields_(snapshot.fields),
      num_attributes_(snapshot.attributes.size()),
      value_bytes_(snapshot.value_bytes()),
      values_(change.values.data()),
      codes_(change.fields.size()) {
  visit_value_type(snapshot, [&]<typename T>(T) { fill<T>(snapshot.stand_ins); });
  for (std::size_t f = 0; f < codes_.size(); ++f)
    if (has_dictionary(snapshot.fields[f])) codes_[f] = codes_of(change.fields[f], snapshot.dictionaries[f]);
}

template <typename T>
void BatchRows::fill(std::span<const double> stand_ins) {
  const std::span given(reinterpret_cast<const T*>(values_), num_attributes_ * num_rows());
  const auto is_missing = [](T value) { return std::isnan(value); };
  if (std::ranges::none_of(given, is_missing)) return;
  filled_ = change_.values;
  values_ = filled_.data();
  T* column = reinterpret_cast<T*>(filled_.data());
  for (std::size_t i = 0; i < num_attributes_; ++i, column += num_rows())
    std::replace_if(column, column + num_rows(), is_missing, static_cast<T>(stand_ins[i]));
}

std::int64_t BatchRows::key(std::size_t row, std::size_t field) const {
  const std::int64_t key = change_.fields[field].keys[row];
  return codes_[field].empty() ? key : codes_[field][static_cast<std::size_t>(key)];
}

double BatchRows::cut_value(std::size_t row, std::uint32_t column) const {
  if (column < num_attributes_) return number(row, column);
  const std::size_t f = column - num_attributes_;
  return change_.fields[f].is_missing(row) ? kMissingCutValue : culmen::cut_value(fields_[f], key(row, f));
}

void BatchRows::copy_row(std::size_t row, LeafFieldsBuilder& leaf, std::size_t row_of_leaf) const {
  if (have_gaps())
    for (std::size_t i = 0; i < num_attributes_; ++i)
      if (misses(row, i)) leaf.set_missing_attribute(i, row_of_leaf);
  for (std::size_t f = 0; f < change_.fields.size(); ++f) {
    const FieldChange& field = change_.fields[f];
    if (field.is_missing(row)) {
      leaf.set_missing(f, row_of_leaf);
    } else if (!is_stored_text(fields_[f])) {
      leaf.set_key(f, row_of_leaf, key(row, f));
    }
  }
}

void BatchRows::copy_texts(std::size_t row, LeafTextsBuilder& leaf, std::size_t row_of_leaf) const {
  for (std::size_t f = 0; f < change_.fields.size(); ++f)
    if (is_stored_text(fields_[f])) leaf.set_text(f, row_of_leaf, change_.fields[f].text_at(row));
}

}  // namespace culmen
