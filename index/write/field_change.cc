#include "index/write/field_change.h"

#include "index/field_key.h"

namespace culmen {

FieldChangeBuilder::FieldChangeBuilder(const Field& field) : has_keys_(!is_stored_text(field)) {}

void FieldChangeBuilder::append_text(std::string_view text) {
  change_.text.insert(change_.text.end(), text.begin(), text.end());
  change_.text_ends.push_back(change_.text.size());
}

void FieldChangeBuilder::add_missing() {
  if (has_keys_) {
    add_key(0);
  } else {
    add_text({});
  }
  change_.missing.resize(num_rows_);
  change_.missing.back() = 1;
}

void FieldChangeBuilder::add_key(std::int64_t key) {
  change_.keys.push_back(key);
  ++num_rows_;
  if (!change_.missing.empty()) change_.missing.push_back(0);
}

void FieldChangeBuilder::add_text(std::string_view text) {
  if (has_keys_) {
    const auto [found, is_new] = positions_.emplace(text, change_.text_ends.size());
    if (is_new) append_text(text);
    return add_key(found->second);
  }
  append_text(text);
  ++num_rows_;
  if (!change_.missing.empty()) change_.missing.push_back(0);
}

void FieldChangeBuilder::add_row_of(const FieldChange& change, std::size_t row) {
  if (change.is_missing(row)) return add_missing();
  if (!has_keys_) return add_text(change.text_at(row));
  const std::int64_t key = change.keys[row];
  if (change.text_ends.empty()) return add_key(key);
  add_text(change.text_at(static_cast<std::size_t>(key)));
}

}  // namespace culmen
