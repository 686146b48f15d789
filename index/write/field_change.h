// FieldChange: one field of a batch's rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "culmen/schema.h"

namespace culmen {

inline std::string_view text_between(const std::vector<std::uint64_t>& ends, const std::vector<char>& text,
                                     std::size_t i) {
  const std::uint64_t start = i == 0 ? 0 : ends[i - 1];
  return {text.data() + start, static_cast<std::size_t>(ends[i] - start)};
}

// A reload changes the codes of texts, and the log knows nothing of reloads. So a batch has texts of its own instead of
// codes.
struct FieldChange {
  // [num_rows] 0 where missing; of filter texts: positions in `text_ends`. Empty for stored texts.
  std::vector<std::int64_t> keys;
  // Ends of texts in `text`. Of stored texts: [num_rows], missing ones are empty. Of filter texts: those of the rows,
  // each once, in the order in which rows first have them.
  std::vector<std::uint64_t> text_ends;
  std::vector<char> text;
  std::vector<std::uint8_t> missing;  // [num_rows] 0 or 1; empty: none is missing

  bool is_missing(std::size_t row) const { return !missing.empty() && missing[row] != 0; }
  std::string_view text_at(std::size_t i) const { return text_between(text_ends, text, i); }
};

// Makes one row by row.
class FieldChangeBuilder {
 public:
  explicit FieldChangeBuilder(const Field& field);

  void add_missing();
  void add_key(std::int64_t key);
  void add_text(std::string_view text);  // lives until take(), if the field is filtered by
  // Row `row` of a change of the same field, which lives until take().
  void add_row_of(const FieldChange& change, std::size_t row);

  FieldChange take() { return std::move(change_); }

 private:
  void append_text(std::string_view text);

  bool has_keys_;
  std::size_t num_rows_ = 0;
  FieldChange change_;
  std::unordered_map<std::string_view, std::int64_t> positions_;  // of filter texts
};

}  // namespace culmen
